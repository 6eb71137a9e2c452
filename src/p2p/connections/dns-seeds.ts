import { unixSeconds } from '../../util/clock.ts';
import type { Log } from '../../util/log.ts';
import { type RandomBelow, shuffled } from '../../util/random.ts';
import type { AddrManager } from '../address/addr-manager.ts';
import { parseAddress } from '../address/address-text.ts';
import { internalAddress, type PeerAddress } from '../address/net-address.ts';
import { SEED_SERVICES } from '../services.ts';
import { type Lookup, lookUp } from './lookup.ts';
import type { Timing } from './timing.ts';

/** With so many peers no seeds are asked. */
const ENOUGH_PEERS = 2;
const SEEDS_AT_ONCE = 3;
/** How long known addresses are tried before, and when they are so many that they will do. */
const WAIT_MS = 11_000;
const LONG_WAIT_MS = 5 * 60_000;
const MANY_ADDRESSES = 1000;
/** So that no seed fills the address manager alone. */
const MAX_ADDRESSES_PER_SEED = 32;
const DAY = 86_400;

export interface DnsSeedOptions {
  readonly seeds: readonly string[];
  readonly port: number;
  readonly lookup: Lookup;
  readonly addresses: AddrManager;
  readonly timing: Timing;
  readonly random: RandomBelow;
  readonly log: Log;
  /** Names are resolved by a proxy: seeds are then asked for addresses as nodes. */
  readonly throughProxy: boolean;
  /** Handshakes that are over, of outbound peers that relay everything. */
  readonly peers: () => number;
  readonly active: () => boolean;
  /** Asks the node behind a name for addresses. */
  readonly addrFetch: (host: string) => void;
}

/** Asks DNS seeds for addresses, if they are needed. Rejects with the signal's reason. */
export async function askDnsSeeds(options: DnsSeedOptions, signal: AbortSignal): Promise<void> {
  const { addresses, timing, log } = options;
  const seeds = shuffled(options.seeds, options.random);
  // Who knows nobody asks all of them.
  let rightNow = addresses.size() === 0 ? seeds.length : 0;
  let found = 0;
  for (const seed of seeds) {
    if (rightNow === 0) {
      rightNow = SEEDS_AT_ONCE;
      if (addresses.size() > 0 && (await foundPeers(options, signal))) return;
    }
    while (!options.active()) await timing.sleep(1000, signal);
    found += await askSeed(seed, options, signal);
    rightNow--;
  }
  if (seeds.length > 0) log.info('asked DNS seeds for peers', { seeds: seeds.length, found });
}

/** Gives the addresses that are known some time; whether that was enough. */
async function foundPeers({ addresses, timing, peers }: DnsSeedOptions, signal: AbortSignal): Promise<boolean> {
  const wait = addresses.size() >= MANY_ADDRESSES ? LONG_WAIT_MS : WAIT_MS;
  for (let waited = 0; waited < wait; waited += WAIT_MS) {
    await timing.sleep(Math.min(WAIT_MS, wait - waited), signal);
    if (peers() >= ENOUGH_PEERS) return true;
  }
  return false;
}

async function askSeed(seed: string, options: DnsSeedOptions, signal: AbortSignal): Promise<number> {
  const { addresses, random, timing, port, throughProxy, addrFetch } = options;
  signal.throwIfAborted();
  if (throughProxy) {
    addrFetch(seed);
    return 0;
  }
  // The name says which services are wanted.
  const host = `x${SEED_SERVICES.toString(16)}.${seed}`;
  const texts = await lookUp(host, options, signal).catch(() => []);
  signal.throwIfAborted();
  const now = unixSeconds(timing.clock);
  const peers: PeerAddress[] = [];
  for (const text of texts.slice(0, MAX_ADDRESSES_PER_SEED)) {
    const address = parseAddress(text);
    // Between three and seven days old, so that what peers tell comes first.
    const time = now - 3 * DAY - random(4 * DAY);
    if (address !== null) peers.push({ address, port, time, services: SEED_SERVICES });
  }
  if (peers.length > 0) addresses.add(peers, internalAddress(host));
  // A seed may not know such names: whoever is behind its own is then asked as a node.
  else addrFetch(seed);
  return peers.length;
}
