import type { NetworkName } from '../../params/network-params.ts';
import { ByteReader } from '../../util/bytes.ts';
import { type Clock, unixSeconds } from '../../util/clock.ts';
import type { Log } from '../../util/log.ts';
import { type RandomBelow, shuffled } from '../../util/random.ts';
import type { AddrManager } from '../address/addr-manager.ts';
import { parseNetAddress } from '../address/address-text.ts';
import { internalAddress, type PeerAddress } from '../address/net-address.ts';
import { readV2NetAddress } from '../messages/addresses.ts';
import { readPort } from '../messages/version.ts';
import { SEED_SERVICES } from '../services.ts';
import { type Lookup, lookUp } from './dial.ts';
import main from './seeds/main.txt' with { type: 'text' };
import signet from './seeds/signet.txt' with { type: 'text' };
import testnet4 from './seeds/testnet4.txt' with { type: 'text' };
import type { Timing } from './timing.ts';

/** Number of connected peers at which no seeds are queried. */
export const ENOUGH_PEERS = 2;
const SEEDS_AT_ONCE = 3;
/** Time for connecting to known addresses before seeds are queried, milliseconds: normally, and if many are known. */
const WAIT_MS = 11_000;
const LONG_WAIT_MS = 5 * 60_000;
const MANY_ADDRESSES = 1000;
/** Time for seed nodes before DNS seeds are queried, milliseconds, and between two counts of the peers. */
const SEED_NODES_MS = 30_000;
const COUNT_MS = 500;
/** Limits the share of one seed in the address manager. */
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
  /** Whether nodes are configured that are requested for addresses first. */
  readonly hasSeedNodes: boolean;
  /** Whether all seeds are queried at once, whatever is known. */
  readonly isForced: boolean;
  /** Whether names are resolved by a proxy; then seeds are connected to as addr-fetch peers. */
  readonly throughProxy: boolean;
  /** Returns the number of established full-relay peers. */
  readonly peers: () => number;
  readonly active: () => boolean;
  /** Connects to the node behind a name to fetch addresses. */
  readonly addrFetch: (host: string) => void;
}

/** Queries DNS seeds if addresses are needed (Core's ThreadDNSAddressSeed). Rejects with the signal's reason. */
export async function queryDnsSeeds(options: DnsSeedOptions, signal: AbortSignal): Promise<void> {
  const { addresses, timing, log, isForced } = options;
  const peersFound = options.hasSeedNodes && (await hasPeersBySeedNodes(options, signal));
  const seeds = shuffled(options.seeds, options.random);
  // All seeds are queried at once if no address is known.
  let rightNow = isForced || addresses.size() === 0 ? seeds.length : 0;
  let found = 0;
  if (peersFound && rightNow === 0) return log.info('DNS seeds not queried: there are enough peers');
  for (const seed of seeds) {
    if (rightNow === 0) {
      rightNow = SEEDS_AT_ONCE;
      if (addresses.size() > 0 && (await hasEnoughPeers(options, signal)))
        return log.info('DNS seeds are no longer queried: there are enough peers', { found });
    }
    while (!options.active()) await timing.sleep(1000, signal);
    log.info('DNS seed queried', { seed });
    found += await querySeed(seed, options, signal);
    rightNow--;
  }
  if (seeds.length > 0) log.info('asked DNS seeds for peers', { seeds: seeds.length, found });
}

/** Waits for connections to addresses from the seed nodes; returns whether there are enough peers. */
async function hasPeersBySeedNodes({ timing, peers, log }: DnsSeedOptions, signal: AbortSignal): Promise<boolean> {
  log.info('DNS seeds wait for the seed nodes', { seconds: SEED_NODES_MS / 1000 });
  const until = timing.clock.monotonicMs() + SEED_NODES_MS;
  do {
    await timing.sleep(COUNT_MS, signal);
    if (peers() >= ENOUGH_PEERS) return true;
  } while (timing.clock.monotonicMs() <= until);
  return false;
}

/** Waits for connections to known addresses; returns whether there are enough peers. */
async function hasEnoughPeers(
  { addresses, timing, peers, log }: DnsSeedOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const wait = addresses.size() >= MANY_ADDRESSES ? LONG_WAIT_MS : WAIT_MS;
  log.info('DNS seeds wait for connections to known addresses', { seconds: wait / 1000 });
  for (let waited = 0; waited < wait; waited += WAIT_MS) {
    await timing.sleep(Math.min(WAIT_MS, wait - waited), signal);
    if (peers() >= ENOUGH_PEERS) return true;
  }
  return false;
}

async function querySeed(seed: string, options: DnsSeedOptions, signal: AbortSignal): Promise<number> {
  const { addresses, random, timing, port, throughProxy, addrFetch } = options;
  signal.throwIfAborted();
  if (throughProxy) {
    addrFetch(seed);
    return 0;
  }
  // The host name encodes the wanted services.
  const host = `x${SEED_SERVICES.toString(16)}.${seed}`;
  const texts = await lookUp(host, options, signal).catch(() => []);
  signal.throwIfAborted();
  const now = unixSeconds(timing.clock);
  const peers: PeerAddress[] = [];
  for (const text of texts.slice(0, MAX_ADDRESSES_PER_SEED)) {
    const address = parseNetAddress(text);
    // Three to seven days old, so that addresses announced by peers are preferred.
    const time = now - 3 * DAY - random(4 * DAY);
    if (address !== null) peers.push({ address, port, time, services: SEED_SERVICES });
  }
  if (peers.length > 0) addresses.add(peers, internalAddress(host));
  // A seed without support for service names is used as an addr-fetch peer.
  else addrFetch(seed);
  return peers.length;
}

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
