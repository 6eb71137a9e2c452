import { AddrManager } from '../../../src/p2p/address/addr-manager.ts';
import { parseNetAddress } from '../../../src/p2p/address/address-text.ts';
import type { NetAddress, NetService, PeerAddress } from '../../../src/p2p/address/net-address.ts';
import { Random } from '../../fuzz/random.ts';
import { ManualClock } from '../../lib/manual-clock.ts';

export const NOW = 1_700_000_000;
export const MINUTE = 60;
export const HOUR = 3600;
export const DAY = 86_400;
const KEY = new Uint8Array(32).fill(7);
export const SOURCE = ip('252.2.2.2');
export const ONION = 'pg6mmjiyjmcrsslvykfwnntlaru7p5svn6y2ymmju6nubxndf4pscryd.onion';

export function ip(text: string): NetAddress {
  const address = parseNetAddress(text);
  if (address === null) throw new Error(`not an address: ${text}`);
  return address;
}

export function at(text: string, port = 8333): NetService {
  return { address: ip(text), port };
}

export function peer(text: string, { port = 8333, time = NOW, services = 9n } = {}): PeerAddress {
  return { address: ip(text), port, time, services };
}

export function fixture(seed = 1) {
  const clock = new ManualClock(NOW * 1000);
  const random = new Random(seed);
  const below = (limit: number) => random.int(limit);
  const manager = AddrManager.create(clock, below, KEY);
  return { clock, manager, below, pass: (seconds: number) => clock.advance(seconds * 1000) };
}
