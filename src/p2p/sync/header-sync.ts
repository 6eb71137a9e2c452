import type { ChainEntry } from '../../chain/chain-entry.ts';
import { locatorOf } from '../../chain/locator.ts';
import { checkProofOfWork, workOf } from '../../consensus/work.ts';
import type { BlockHash } from '../../primitives/hash.ts';
import { type BlockHeader, headerHash } from '../../primitives/header.ts';
import { equalBytes } from '../../util/bytes.ts';
import { unixSeconds } from '../../util/clock.ts';
import { MAX_HEADERS } from '../messages/headers.ts';
import { antiDosWork, type PeerContext } from '../peer/context.ts';
import type { Peer } from '../peer/peer.ts';
import { PROTOCOL_VERSION } from '../protocol.ts';
import { isActive, noteBlock, noteEntry } from './availability.ts';
import { HeadersPresync } from './headers-presync.ts';
import { punishForBlock } from './punish.ts';

/** An answer to `getheaders` is waited for so long before it is asked again. */
const RESPONSE_MS = 2 * 60_000;
const DOWNLOAD_BASE_MS = 15 * 60_000;
const DOWNLOAD_PER_HEADER_MS = 1;
/** With a best header this recent, more than one peer is asked. */
const RECENT_S = 24 * 60 * 60;
/** Outbound peers with a good chain that are kept whatever becomes of it later. */
const MAX_PROTECTED = 4;
const NO_STOP = new Uint8Array(32) as BlockHash;

/** Fetches headers: first from one peer, and near the tip from all. */
export class HeaderSync {
  readonly #ctx: PeerContext;
  /** What to do once a peer's headers are known: fetch the blocks that are new. */
  readonly #arrived: (peer: Peer, last: ChainEntry) => void;
  readonly #protected = new Set<Peer>();
  /** The last announced block for which a peer was asked for headers out of its turn. */
  #lastTrigger: BlockHash | null = null;

  constructor(ctx: PeerContext, arrived: (peer: Peer, last: ChainEntry) => void) {
    this.#ctx = ctx;
    this.#arrived = arrived;
  }

  closed(peer: Peer): void {
    this.#protected.delete(peer);
    peer.sync.presync = null;
  }

  /** Begins to ask the peer for headers where it is its turn, and sees to it that they come. */
  tick(peer: Peer, nowMs: number): void {
    const { sync } = peer;
    if (sync.started) this.#checkDeadline(peer, nowMs);
    else if (peer.servesBlocks && this.#mayStart(peer)) this.#start(peer, nowMs);
  }

  /** Asks for headers beyond those of a locator, unless an answer is still waited for. */
  ask(peer: Peer, locator: readonly BlockHash[]): boolean {
    const nowMs = this.#ctx.clock.monotonicMs();
    if (nowMs - peer.sync.headersAskedAt <= RESPONSE_MS) return false;
    peer.sync.headersAskedAt = nowMs;
    peer.link.send('getheaders', { version: PROTOCOL_VERSION, locator: locator.slice(), stopHash: NO_STOP });
    return true;
  }

  /** The peer told of a block by its hash alone. */
  announced(peer: Peer, hash: BlockHash): void {
    const { chain } = this.#ctx;
    noteBlock(peer, hash, chain);
    if (chain.get(hash) !== null) return;
    const { sync } = peer;
    if (!sync.started) {
      // Whoever is asked already may be slow, so each new block has one more asked, and nobody twice: it may be far behind.
      const isNew = this.#lastTrigger === null || !equalBytes(hash, this.#lastTrigger);
      if (sync.invTriggeredHeaders || !isNew) return;
      sync.invTriggeredHeaders = true;
      this.#lastTrigger = hash.slice() as BlockHash;
    }
    this.ask(peer, locatorOf(chain.bestHeader));
  }

  async headers(peer: Peer, headers: readonly BlockHeader[]): Promise<void> {
    const { chain } = this.#ctx;
    const { sync } = peer;
    if (headers.length === 0) {
      sync.presync = null;
      sync.headersAskedAt = Number.NEGATIVE_INFINITY;
      return;
    }
    const problem = this.#problem(headers);
    if (problem !== null) return this.#ctx.misbehaving(peer, problem);
    const full = headers.length === MAX_HEADERS;
    const ready = this.#throughPresync(peer, headers, full);
    if (ready.headers.length === 0) return;
    const parent = chain.get(ready.headers[0]!.previousHash);
    if (parent === null) return this.#unconnected(peer, ready.headers);
    sync.headersAskedAt = Number.NEGATIVE_INFINITY;
    const lastKnown = chain.get(headerHash(ready.headers.at(-1)!));
    const proven =
      ready.proven || peer.link.permissions.has('noban') || (lastKnown !== null && this.#isOurs(lastKnown));
    if (!proven && this.#hasLowWork(peer, parent, ready.headers, full)) return;
    const { last, rejection } = await chain.acceptHeaders(ready.headers);
    if (last !== null) noteEntry(peer, last);
    if (rejection !== null) return punishForBlock(this.#ctx, peer, rejection);
    if (last === null || peer.gone) return;
    if (full && sync.presync === null) this.ask(peer, locatorOf(last));
    this.#learnt(peer, last, { isNew: lastKnown === null, mayHaveMore: full });
    this.#arrived(peer, last);
  }

  /** What no honest peer sends: headers without work, or that do not follow one another. */
  #problem(headers: readonly BlockHeader[]): string | null {
    const { powLimit } = this.#ctx.params.consensus;
    let previous: BlockHash | null = null;
    for (const header of headers) {
      if (previous !== null && !equalBytes(header.previousHash, previous)) return 'non-continuous headers sequence';
      previous = headerHash(header);
      if (!checkProofOfWork(previous, header.bits, powLimit)) return 'header with invalid proof of work';
    }
    return null;
  }

  /** What of the headers is to be looked at further: all, where their work need not be proven first. */
  #throughPresync(peer: Peer, headers: readonly BlockHeader[], full: boolean) {
    const { sync } = peer;
    if (sync.presync === null) return { headers, proven: false };
    const { success, requestMore, headers: ready } = sync.presync.process(headers, full);
    // They are what was asked for.
    if (success) sync.headersAskedAt = Number.NEGATIVE_INFINITY;
    if (requestMore) this.ask(peer, sync.presync.locator());
    else sync.presync = null;
    // After a failure the headers are taken for an announcement.
    return success ? { headers: ready, proven: true } : { headers, proven: false };
  }

  /** Whether the headers cannot be kept, as their chain has not shown enough work. Of a long one that is found out. */
  #hasLowWork(peer: Peer, start: ChainEntry, headers: readonly BlockHeader[], full: boolean): boolean {
    const minimumWork = antiDosWork(this.#ctx);
    const total = headers.reduce((sum, { bits }) => sum + workOf(bits), start.chainwork);
    if (total >= minimumWork) return false;
    // It has no more to give, so it is not worth anything.
    if (!full) return true;
    const { params, clock, random } = this.#ctx;
    const presync = new HeadersPresync({ params, start, minimumWork, now: unixSeconds(clock), randomBelow: random });
    peer.sync.presync = presync;
    const { requestMore } = presync.process(headers, full);
    if (requestMore) this.ask(peer, presync.locator());
    else peer.sync.presync = null;
    return true;
  }

  /** An announcement of blocks whose parent we do not know (BIP-130). */
  #unconnected(peer: Peer, headers: readonly BlockHeader[]): void {
    const { chain } = this.#ctx;
    this.ask(peer, locatorOf(chain.bestHeader));
    noteBlock(peer, headerHash(headers.at(-1)!), chain);
  }

  #isOurs(entry: ChainEntry): boolean {
    const { chain } = this.#ctx;
    return chain.bestHeader.ancestor(entry.height) === entry || isActive(chain, entry);
  }

  #learnt(peer: Peer, last: ChainEntry, { isNew, mayHaveMore }: { isNew: boolean; mayHaveMore: boolean }): void {
    const { chain, params, clock, log } = this.#ctx;
    const { sync, link } = peer;
    if (isNew && last.chainwork > chain.tip.chainwork) sync.lastAnnouncementAt = unixSeconds(clock);
    const work = sync.bestKnown?.chainwork ?? 0n;
    const outbound = link.type === 'outbound-full-relay' || link.type === 'block-relay-only';
    if (chain.initialSync && !mayHaveMore && outbound && work < params.consensus.minimumChainWork) {
      log.info('an outbound peer has a chain with too little work', { peer: peer.id });
      link.disconnect('headers chain has insufficient work');
      return;
    }
    if (link.type !== 'outbound-full-relay' || sync.chain.protected) return;
    if (this.#protected.size >= MAX_PROTECTED || work < chain.tip.chainwork) return;
    sync.chain.protected = true;
    this.#protected.add(peer);
  }

  #mayStart(peer: Peer): boolean {
    const { chain, peers, clock } = this.#ctx;
    if (peer.link.type === 'addr-fetch') return false;
    if (chain.bestHeader.time > unixSeconds(clock) - RECENT_S) return true;
    let preferred = false;
    for (const other of peers.values()) {
      if (other.sync.started) return false;
      if (other.sync.preferred) preferred = true;
    }
    return peer.sync.preferred || !preferred;
  }

  #start(peer: Peer, nowMs: number): void {
    const { chain, params, clock } = this.#ctx;
    const best = chain.bestHeader;
    // One below, so that an answer comes even from a peer with the same chain.
    if (!this.ask(peer, locatorOf(best.parent ?? best))) return;
    const missing = Math.max(0, unixSeconds(clock) - best.time) / params.consensus.powTargetSpacing;
    peer.sync.started = true;
    peer.sync.headersDeadline = nowMs + DOWNLOAD_BASE_MS + DOWNLOAD_PER_HEADER_MS * missing;
  }

  /** In initial sync a single peer is asked; one that gives nothing makes room for another. */
  #checkDeadline(peer: Peer, nowMs: number): void {
    const { chain, peers, clock } = this.#ctx;
    const { sync, link } = peer;
    if (sync.headersDeadline === Number.POSITIVE_INFINITY) return;
    if (chain.bestHeader.time > unixSeconds(clock) - RECENT_S) {
      sync.headersDeadline = Number.POSITIVE_INFINITY;
      return;
    }
    if (nowMs <= sync.headersDeadline) return;
    const others = [...peers.values()].filter((other) => other !== peer);
    if (others.some(({ sync: { started } }) => started) || !others.some(({ sync: { preferred } }) => preferred)) return;
    if (!link.permissions.has('noban')) {
      link.disconnect('header download timeout');
      return;
    }
    sync.started = false;
    sync.headersAskedAt = Number.NEGATIVE_INFINITY;
    sync.headersDeadline = Number.POSITIVE_INFINITY;
  }
}
