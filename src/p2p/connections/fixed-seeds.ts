import type { NetworkName } from '../../params/network-params.ts';
import { ByteReader } from '../../util/bytes.ts';
import { type Clock, unixSeconds } from '../../util/clock.ts';
import type { RandomBelow } from '../../util/random.ts';
import type { PeerAddress } from '../address/net-address.ts';
import { readV2NetAddress } from '../messages/addresses.ts';
import { readPort } from '../messages/version.ts';
import { SEED_SERVICES } from '../services.ts';
import main from './seeds/main.txt' with { type: 'text' };
import signet from './seeds/signet.txt' with { type: 'text' };
import testnet4 from './seeds/testnet4.txt' with { type: 'text' };

/**
 * Long-lived nodes for a node without known peers: Bitcoin Core's lists (src/chainparamsseeds.h) in base64. Each entry
 * is a BIP-155 network id, an address with its length, and a port.
 */
const SEEDS: Readonly<Record<NetworkName, string>> = { main, testnet4, signet, regtest: '' };

const WEEK = 7 * 24 * 3600;

/** Returns the fixed seeds of a network with times one to two weeks ago, so that all other addresses are preferred. */
export function fixedSeeds(network: NetworkName, clock: Clock, random: RandomBelow): PeerAddress[] {
  const r = new ByteReader(Uint8Array.fromBase64(SEEDS[network]));
  const now = unixSeconds(clock);
  const peers: PeerAddress[] = [];
  while (r.remaining > 0) {
    const address = readV2NetAddress(r);
    const port = readPort(r);
    peers.push({ address, port, time: now - WEEK - random(WEEK), services: SEED_SERVICES });
  }
  return peers;
}
