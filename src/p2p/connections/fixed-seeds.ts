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
 * Nodes that were there for long, for one who knows nobody: the lists of Bitcoin Core (src/chainparamsseeds.h), in base64.
 * Each is BIP-155's network number, address with its length, and port.
 */
const SEEDS: Readonly<Record<NetworkName, string>> = { main, testnet4, signet, regtest: '' };

const WEEK = 7 * 24 * 3600;

/** The seeds of a network, said to be last seen one to two weeks ago so that whatever else is heard of comes first. */
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
