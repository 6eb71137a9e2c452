import { sipHash, sipHashKey } from '../../crypto/siphash.ts';
import { unixSeconds } from '../../util/clock.ts';
import { poissonDelay, random64, shuffled } from '../../util/random.ts';
import { RollingBloomFilter } from '../../util/rolling-bloom-filter.ts';
import { printService } from '../address/address-text.ts';
import { addressBytes, isV1Compatible, type PeerAddress } from '../address/net-address.ts';
import { isRoutable } from '../address/ranges.ts';
import { servesBlocks } from '../p2p-protocol.ts';
import type { AddrRelayState, Peer } from '../peer/peer.ts';
import type { PeerContext } from '../peer/peer-context.ts';

const MAX_ADDRESSES = 1000;
const SEND_MEAN_MS = 30_000;
/** Time in which a peer must answer that was connected to for addresses alone (Core: ten broadcast intervals). */
const ADDR_FETCH_SECONDS = (10 * SEND_MEAN_MS) / 1000;
const OWN_MEAN_MS = 24 * 60 * 60_000;
/** Rate limit of processed addresses per peer: per second, and as a burst. */
const TOKENS_PER_SECOND = 0.1;
const MAX_TOKENS = 1000;
const KNOWN = 5000;
const KNOWN_RATE = 0.001;
const MINUTE = 60;
const DAY = 24 * 60 * MINUTE;
/** Age and message size up to which an address is relayed to other peers: seconds, addresses. */
const FRESH = 10 * MINUTE;
const MAX_FRESH = 10;
/** Times before this are invalid (as in Core), Unix seconds. */
const OLDEST_TIME = 100_000_000;
const PENALTY = 2 * 60 * MINUTE;
const ZERO_KEY = sipHashKey(0n, 0n);

/** Relays addresses between peers. Rate limits keep peers from flooding us, or others through us. */
export class AddrRelay {
  readonly #ctx: PeerContext;
  /** Secret key that determines to which peers an address is relayed. */
  readonly #key;

  constructor(ctx: PeerContext) {
    this.#ctx = ctx;
    this.#key = sipHashKey(random64(ctx.random), random64(ctx.random));
  }

  /** Requests addresses from an outbound peer, once. */
  requestAddresses(peer: Peer): void {
    if (peer.inbound) return;
    const state = this.#stateOf(peer);
    if (state === null) return;
    peer.link.send('getaddr', null);
    state.weAsked = true;
    state.tokens += MAX_ADDRESSES;
  }

  /**
   * Answers `getaddr` once, and only for inbound peers, so that observers cannot fingerprint the node or infer its
   * connections.
   */
  onGetAddr(peer: Peer): void {
    if (!peer.inbound) return;
    const state = this.#stateOf(peer);
    if (state === null) return;
    if (state.askedUs) {
      this.#ctx.log.debug('getaddr ignored: it was answered', { peer: peer.id });
      return;
    }
    state.askedUs = true;
    state.queue.length = 0;
    for (const address of this.#ctx.connections.addrResponse(peer.link)) this.#queueAddress(peer, state, address);
  }

  onAddr(peer: Peer, addresses: readonly PeerAddress[]): void {
    const { connections, clock, random } = this.#ctx;
    const state = this.#stateOf(peer);
    if (state === null) return;
    const now = unixSeconds(clock);
    this.#refillTokens(state);
    const kept: PeerAddress[] = [];
    for (const given of shuffled(addresses, random)) {
      if (state.tokens >= 1) state.tokens -= 1;
      else if (!peer.link.permissions.has('addr')) {
        state.rateLimited++;
        continue;
      }
      if (!servesBlocks(given.services)) continue;
      const time = given.time <= OLDEST_TIME || given.time > now + FRESH ? now - 5 * DAY : given.time;
      const address = { ...given, time };
      state.known.insert(keyOf(address));
      if (connections.isBannedOrDiscouraged(address.address)) continue;
      state.processed++;
      const fresh = time > now - FRESH && !state.weAsked && addresses.length <= MAX_FRESH;
      if (fresh && isRoutable(address.address)) this.#relayAddress(peer, address);
      if (connections.isReachable(address.address)) kept.push(address);
    }
    if (connections.addresses.add(kept, peer.link.service.address, PENALTY))
      this.#logAdded(peer, kept, addresses.length);
    if (addresses.length < MAX_ADDRESSES) state.weAsked = false;
    // A message with one address may be the peer's self-announcement.
    if (peer.link.type === 'addr-fetch' && addresses.length > 1) peer.link.disconnect('address fetch done');
  }

  tick(peer: Peer, nowMs: number): void {
    const state = peer.addr;
    const { link } = peer;
    if (link.type === 'addr-fetch' && unixSeconds(this.#ctx.clock) - link.openedAt > ADDR_FETCH_SECONDS)
      link.disconnect('addr-fetch timeout');
    if (state === null) return;
    const { chain, connections, random, log } = this.#ctx;
    if (connections.listening && !chain.initialSync && state.nextOwnAt < nowMs) {
      // The filter is reset so that our own address is sent again.
      const first = state.nextOwnAt === 0;
      if (!first) state.known.reset();
      const own = connections.localAddressFor(peer.link, peer.seesUsAt);
      if (own !== null) log.debug('own address announced', { peer: peer.id, address: printService(own) });
      // The first self-announcement is sent separately, so that the peer's rate limit does not drop it.
      if (own !== null && first && isCompatible(peer, own)) this.#sendAddresses(peer, [own]);
      else if (own !== null && !first) this.#queueAddress(peer, state, own);
      state.nextOwnAt = nowMs + poissonDelay(OWN_MEAN_MS, random);
    }
    if (nowMs <= state.nextAt) return;
    state.nextAt = nowMs + poissonDelay(SEND_MEAN_MS, random);
    const unknown = state.queue.splice(0).filter((address) => {
      const key = keyOf(address);
      if (state.known.contains(key)) return false;
      state.known.insert(key);
      return true;
    });
    if (unknown.length > 0) this.#sendAddresses(peer, unknown);
  }

  #logAdded({ id }: Peer, kept: readonly PeerAddress[], of: number): void {
    const { log } = this.#ctx;
    if (log.enabled('debug'))
      log.debug('addresses added', { peer: id, count: kept.length, of, first: printService(kept[0]!) });
  }

  #sendAddresses(peer: Peer, addresses: PeerAddress[]): void {
    peer.link.send(peer.negotiated.addrV2 ? 'addrv2' : 'addr', { addresses });
  }

  /** Returns the address relay state, created on first use; null for peers without address relay. */
  #stateOf(peer: Peer): AddrRelayState | null {
    const { type } = peer.link;
    if (type === 'block-relay-only' || type === 'feeler') return null;
    peer.addr ??= {
      known: new RollingBloomFilter(KNOWN, KNOWN_RATE),
      queue: [],
      nextAt: 0,
      nextOwnAt: 0,
      askedUs: false,
      weAsked: false,
      tokens: 1,
      tokensAt: this.#ctx.clock.monotonicMs(),
      processed: 0,
      rateLimited: 0,
    };
    return peer.addr;
  }

  #refillTokens(state: AddrRelayState): void {
    const nowMs = this.#ctx.clock.monotonicMs();
    if (state.tokens < MAX_TOKENS)
      state.tokens = Math.min(MAX_TOKENS, state.tokens + ((nowMs - state.tokensAt) / 1000) * TOKENS_PER_SECOND);
    state.tokensAt = nowMs;
  }

  /**
   * Core's RelayAddress: relays an address to one or two peers. The choice is fixed for about a day per address, so
   * that repeating it does not spread it further.
   */
  #relayAddress(from: Peer, address: PeerAddress): void {
    const reachable = this.#ctx.connections.isReachable(address.address);
    const key = keyOf(address);
    const hash = sipHash(ZERO_KEY, key);
    const day = (BigInt(unixSeconds(this.#ctx.clock)) + hash) / BigInt(DAY);
    const score = (id: number) => sipHash(this.#key, numbers(hash, day, BigInt(id)));
    const count = reachable || score(-1) & 1n ? 2 : 1;
    const candidates: { peer: Peer; state: AddrRelayState; score: bigint }[] = [];
    for (const peer of this.#ctx.peers.values())
      if (peer !== from && peer.addr !== null && isCompatible(peer, address))
        candidates.push({ peer, state: peer.addr, score: score(peer.id) });
    candidates.sort((a, b) => (a.score < b.score ? 1 : -1));
    for (const { peer, state } of candidates.slice(0, count)) this.#queueAddress(peer, state, address);
  }

  /** Queues an address; if the queue is full, it replaces a random one. */
  #queueAddress(peer: Peer, state: AddrRelayState, address: PeerAddress): void {
    if (state.known.contains(keyOf(address)) || !isCompatible(peer, address)) return;
    if (state.queue.length < MAX_ADDRESSES) state.queue.push(address);
    else state.queue[this.#ctx.random(MAX_ADDRESSES)] = address;
  }
}

function keyOf(address: PeerAddress): Uint8Array {
  const bytes = addressBytes(address.address);
  return Uint8Array.of(...bytes, address.port >> 8, address.port & 0xff);
}

/** Returns whether the peer can receive the address: some networks need BIP-155. */
function isCompatible(peer: Peer, { address }: PeerAddress): boolean {
  return peer.negotiated.addrV2 || isV1Compatible(address);
}

function numbers(...values: bigint[]): Uint8Array {
  return new Uint8Array(BigUint64Array.from(values, (value) => BigInt.asUintN(64, value)).buffer);
}
