import type { Chain } from '../../chain/chain.ts';
import { type ChainEntry, forkPoint } from '../../chain/chain-entry.ts';
import { checkBlock } from '../../consensus/check-block.ts';
import type { BlockRejection } from '../../consensus/rejection.ts';
import { workOf } from '../../consensus/work.ts';
import { parseLeadingBlock } from '../../primitives/block.ts';
import { hashToHex } from '../../primitives/hash.ts';
import { DecodeError } from '../../util/bytes.ts';
import { unixSeconds } from '../../util/clock.ts';
import type { BlockMessage } from '../messages/blocks.ts';
import { INVENTORY } from '../messages/inventory.ts';
import { isLimited, LIMITED_BLOCKS } from '../p2p-protocol.ts';
import type { Peer } from '../peer/peer.ts';
import { antiDosWork, type PeerContext } from '../peer/peer-context.ts';
import { canDirectFetch } from '../relay/recent-block.ts';
import { isActive, processBlockAvailability, updateBestKnown } from './availability.ts';
import { BlockRequests, MAX_BLOCKS_PER_PEER, MAX_REQUESTS_OF_BLOCK } from './block-requests.ts';
import { punishForBlock } from './punish.ts';

/** Number of blocks above the last common block that may be requested (Core's BLOCK_DOWNLOAD_WINDOW). */
const WINDOW = 1024;
/** Unrequested blocks higher above the tip are ignored (Core's MIN_BLOCKS_TO_KEEP). */
const MAX_AHEAD = 288;
/** Margin to the horizon of a limited peer, which may prune the block while it is requested. */
const LIMITED_MARGIN = 2;
/** Time without an answer after which a block near the tip is requested from another peer as well, milliseconds. */
const UNRESPONSIVE_MS = 5000;
/** Height above the tip up to which HELD_BACK_MS applies. */
const NEW_AHEAD = 2;
const STALL_MS = 2000;
const MAX_STALL_MS = 64_000;
const STALL_DECAY = 0.85;
/**
 * Download timeout of a block in block intervals: for one peer, and added for each other peer that is downloading from.
 */
const TIMEOUT_BASE = 1;
const TIMEOUT_PER_PEER = 0.5;
/** Number of blocks whose sender is remembered until they are validated. */
const MAX_SOURCES = 2048;

/** Observer of received blocks. */
export interface BlockEvents {
  /** A block received from this peer extended the active chain. */
  extendedChain(peer: Peer, entry: ChainEntry): void;
}

const MISSING_PARENT: BlockRejection = { kind: 'missing-prev', reason: 'prev-blk-not-found' };

/**
 * Downloads the blocks of the best chain from several peers. Requests are limited to a window above the last block that
 * the peer's chain and ours have in common.
 */
export class BlockDownload {
  readonly requests = new BlockRequests();
  readonly #ctx: PeerContext;
  readonly #events: BlockEvents;
  readonly #sources = new Map<ChainEntry, { readonly peer: Peer; readonly viaCompact: boolean }>();
  #stallMs = STALL_MS;

  constructor(ctx: PeerContext, events: BlockEvents) {
    this.#ctx = ctx;
    this.#events = events;
    ctx.chain.onBlockConnected(() => this.#lowerStallTimeout());
    ctx.chain.onInvalidBlock((entry, rejection) => this.#onInvalidBlock(entry, rejection));
  }

  removePeer(peer: Peer, nowMs: number): void {
    this.requests.removePeer(peer, nowMs);
    for (const [entry, source] of this.#sources) if (source.peer === peer) this.#sources.delete(entry);
  }

  /**
   * The active chain advanced, and so did the window: lowers the stalling timeout (Core's BLOCK_STALLING_TIMEOUT
   * decay).
   */
  #lowerStallTimeout(): void {
    if (this.#stallMs === STALL_MS) return;
    this.#stallMs = Math.max(STALL_MS, Math.floor((this.#stallMs * STALL_DECAY) / 1000) * 1000);
    this.#ctx.log.debug('stalling timeout lowered', { seconds: this.#stallMs / 1000 });
  }

  /** Requests blocks from the peer, and disconnects it if it stalls the download or times out. */
  tick(peer: Peer, nowMs: number): void {
    const { sync, link } = peer;
    // While a block of this peer is being validated, further blocks may have arrived unread, so its timers restart.
    if (sync.inFlight.some(({ arrived }) => arrived)) {
      if (sync.stallingSince > 0) sync.stallingSince = nowMs;
      sync.downloadingSince = nowMs;
    }
    if (sync.stallingSince > 0 && nowMs - sync.stallingSince > this.#stallMs) {
      // The stall may be caused by our own connection, so the timeout for the next peer is doubled.
      this.#stallMs = Math.min(this.#stallMs * 2, MAX_STALL_MS);
      link.disconnect('block download stalled');
      return;
    }
    if (sync.inFlight.length > 0) {
      const others = this.requests.peersDownloadingFrom() - 1;
      const spacing = this.#ctx.params.consensus.powTargetSpacing * 1000;
      if (nowMs - sync.downloadingSince > spacing * (TIMEOUT_BASE + TIMEOUT_PER_PEER * others)) {
        link.disconnect('block download timeout');
        return;
      }
    }
    this.requestBlocks(peer, nowMs);
  }

  /**
   * Processes new headers of a peer. Near the tip the announced blocks are requested from it at once (Core's
   * HeadersDirectFetchBlocks).
   */
  onHeadersAccepted(peer: Peer, last: ChainEntry, nowMs: number): void {
    const { chain } = this.#ctx;
    if (canDirectFetch(this.#ctx) && !last.failed && chain.tip.chainwork <= last.chainwork && peer.servesWitness)
      this.#directFetch(peer, last, nowMs);
    this.requestBlocks(peer, nowMs);
  }

  /** Requests as many blocks as the peer's slots allow. */
  requestBlocks(peer: Peer, nowMs: number): void {
    const { chain } = this.#ctx;
    const { sync } = peer;
    if (peer.gone || !peer.servesBlocks || !this.#mayRequestFrom(peer)) return;
    const room = MAX_BLOCKS_PER_PEER - sync.inFlight.length;
    if (room <= 0 || (sync.inFlight.length > 0 && room < MAX_BLOCKS_PER_PEER / 2 && chain.initialSync)) return;
    const { wanted, staller } = this.#nextBlocksToDownload(peer, room, nowMs);
    wanted.push(...this.#backgroundBlocks(peer, room - wanted.length));
    if (wanted.length > 0) {
      for (const entry of wanted) this.requests.add(peer, entry, nowMs);
      peer.link.send('getdata', { items: wanted.map(({ hash }) => ({ kind: INVENTORY.witnessBlock, hash })) });
    }
    if (sync.inFlight.length === 0 && staller !== null && staller.sync.stallingSince === 0) {
      staller.sync.stallingSince = nowMs;
      this.#ctx.log.debug('peer stalls the download', { peer: staller.id });
    }
  }

  /**
   * Requests a block from this peer only, dropping requests to other peers. Returns false if it was already requested
   * from this peer.
   */
  fetchBlock(peer: Peer, entry: ChainEntry, nowMs: number): boolean {
    if (this.requests.find(entry, peer)) return false;
    this.requests.remove(entry, nowMs);
    this.requests.add(peer, entry, nowMs);
    peer.link.send('getdata', { items: [{ kind: INVENTORY.witnessBlock, hash: entry.hash }] });
    return true;
  }

  /** Processes a `block` message. Resolves when the block is validated or queued. */
  async onBlock(peer: Peer, { hash, header, raw }: BlockMessage): Promise<void> {
    const { chain, log } = this.#ctx;
    let entry = chain.findEntry(hash);
    if (entry?.hasBody) return this.requests.remove(entry, this.#nowMs());
    if (entry === null) {
      // Without a known header, the block needs enough work before it is parsed.
      const parent = chain.findEntry(header.previousHash);
      if (parent === null) {
        log.debug('block ignored: its parent is unknown', { peer: peer.id, hash: hashToHex(hash) });
        return punishForBlock(this.#ctx, peer, MISSING_PARENT);
      }
      if (parent.chainwork + workOf(header.bits) < antiDosWork(this.#ctx)) {
        log.debug('block ignored: its chain has too little work', { peer: peer.id, hash: hashToHex(hash) });
        return;
      }
      // As in Core, the header is not kept if the block itself is wrong.
      const bad = this.#checkAlone(raw);
      if (bad !== null) return punishForBlock(this.#ctx, peer, bad);
      const { last, rejection } = await chain.acceptHeaders([header]);
      if (rejection !== null) return punishForBlock(this.#ctx, peer, rejection);
      entry = last!;
    }
    if (!this.requests.has(entry) && !this.#isWorthProcessing(entry)) return;
    await this.submitBlock(peer, entry, raw);
  }

  /** Checks a block of which not even the header is known, without its parent. Returns its rejection, or null. */
  #checkAlone(raw: Uint8Array): BlockRejection | null {
    const { log, params } = this.#ctx;
    try {
      const block = parseLeadingBlock(raw);
      const bad = checkBlock(block, params.consensus);
      const { hash } = block;
      if (bad !== null) log.debug('block mutated', { hash: hashToHex(hash), reason: bad.reason, debug: bad.debug });
      return bad;
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      log.debug('block does not parse', { reason: error.message });
      return { kind: 'mutated', reason: 'bad-blk-decode', debug: error.message };
    }
  }

  /** Submits a block to the chain. Returns its rejection, or null if it was accepted or is known. */
  async submitBlock(
    peer: Peer,
    known: ChainEntry | null,
    raw: Uint8Array,
    viaCompact = false,
  ): Promise<BlockRejection | null> {
    const { chain, clock } = this.#ctx;
    const request = known && this.requests.find(known, peer);
    if (request) request.arrived = true;
    if (known) this.#rememberSource(known, peer, viaCompact);
    const before = chain.tip;
    const outcome = await chain.acceptBlock(raw, parseLeadingBlock);
    const nowMs = this.#nowMs();
    if (outcome.status === 'rejected') {
      const { rejection } = outcome;
      if (known) {
        this.requests.remove(known, nowMs, rejection.kind === 'mutated' ? peer : null);
        this.#sources.delete(known);
      }
      // A compact block that was reconstructed wrongly may be valid when downloaded in full.
      punishForBlock(this.#ctx, peer, rejection, viaCompact);
      return rejection;
    }
    const { entry } = outcome;
    this.requests.remove(entry, nowMs);
    updateBestKnown(peer, entry);
    if (outcome.status === 'accepted') {
      if (!known) this.#rememberSource(entry, peer, viaCompact);
      peer.link.standing.lastBlockAt = unixSeconds(clock);
      if (chain.tip !== before && isActive(chain, entry)) this.#events.extendedChain(peer, entry);
    }
    this.requestBlocks(peer, nowMs);
    return null;
  }

  #directFetch(peer: Peer, last: ChainEntry, nowMs: number): void {
    const { chain } = this.#ctx;
    const wanted: ChainEntry[] = [];
    let at = last;
    for (; !isActive(chain, at) && wanted.length <= MAX_BLOCKS_PER_PEER; at = at.parent!)
      if (!at.hasBody && !this.requests.has(at)) wanted.push(at);
    // More missing blocks are downloaded through the window.
    if (!isActive(chain, at)) return;
    const items = [];
    for (const entry of wanted.reverse()) {
      if (peer.sync.inFlight.length >= MAX_BLOCKS_PER_PEER) break;
      this.requests.add(peer, entry, nowMs);
      items.push({ kind: INVENTORY.witnessBlock as number, hash: entry.hash });
    }
    // A single new block is requested as a compact block, since the mempool has most of its transactions.
    const parentSeen = last.parent !== null && isActive(chain, last.parent);
    const mayReconstruct = peer.negotiated.compactBlocks && !this.#ctx.options.blocksOnly;
    if (items.length === 1 && this.requests.size === 1 && mayReconstruct && parentSeen)
      items[0]!.kind = INVENTORY.compactBlock;
    if (items.length > 0) peer.link.send('getdata', { items });
  }

  #nowMs(): number {
    return this.#ctx.clock.monotonicMs();
  }

  /**
   * Returns whether blocks may be requested from a peer. During initial block download, inbound peers are used only if
   * there is no preferred peer or no download in progress.
   */
  #mayRequestFrom(peer: Peer): boolean {
    const { chain, peers } = this.#ctx;
    if (!chain.initialSync) return true;
    // Limited peers do not have the old blocks that initial block download needs.
    if (isLimited(peer.services)) return false;
    if (peer.sync.preferred) return true;
    if (peer.link.type === 'addr-fetch') return false;
    if (this.requests.size === 0) return true;
    for (const other of peers.values()) if (other.sync.preferred) return false;
    return true;
  }

  #isWorthProcessing(entry: ChainEntry): boolean {
    const { chain, params } = this.#ctx;
    return (
      // A block that was pruned is stored again only on request.
      !entry.hadBody &&
      entry.chainwork >= chain.tip.chainwork &&
      entry.height <= chain.height + MAX_AHEAD &&
      entry.chainwork >= params.consensus.minimumChainWork
    );
  }

  /**
   * Returns whether a block near the tip may be requested from one more peer because all requested peers have been
   * silent for HELD_BACK_MS.
   */
  #isUnresponsive(entry: ChainEntry, peer: Peer, nowMs: number): boolean {
    if (entry.height > this.#ctx.chain.height + NEW_AHEAD || !canDirectFetch(this.#ctx)) return false;
    const requests = this.requests.requestsFor(entry);
    // The last slot is reserved for preferred peers: an attacker chooses its inbound connections.
    if (requests.length >= (peer.sync.preferred ? MAX_REQUESTS_OF_BLOCK : MAX_REQUESTS_OF_BLOCK - 1)) return false;
    return requests.every((one) => one.peer !== peer && !one.arrived && nowMs - one.since > UNRESPONSIVE_MS);
  }

  #rememberSource(entry: ChainEntry, peer: Peer, viaCompact: boolean): void {
    this.#sources.delete(entry);
    this.#sources.set(entry, { peer, viaCompact });
    // Old entries belong to blocks that were validated long ago.
    if (this.#sources.size > MAX_SOURCES) this.#sources.delete(this.#sources.keys().next().value!);
  }

  #onInvalidBlock(entry: ChainEntry, rejection: BlockRejection): void {
    const source = this.#sources.get(entry);
    this.#sources.delete(entry);
    if (!source) return;
    this.#ctx.log[source.peer.inbound ? 'debug' : 'warn']('peer sent an invalid block', {
      peer: source.peer.id,
      hash: hashToHex(entry.hash),
      reason: rejection.reason,
    });
    punishForBlock(this.#ctx, source.peer, rejection, source.viaCompact);
  }

  /** Returns blocks for the validation behind a loaded UTXO set; the active chain comes first. */
  #backgroundBlocks(peer: Peer, count: number): ChainEntry[] {
    const { background } = this.#ctx.chain;
    const best = peer.sync.bestKnown;
    if (background === null || best === null || count <= 0 || isLimited(peer.services) || !peer.servesWitness)
      return [];
    const isWanted = (entry: ChainEntry) => !this.requests.has(entry) && best.ancestor(entry.height) === entry;
    return background.missingBlocks(count, WINDOW, isWanted);
  }

  /**
   * Core's FindNextBlocksToDownload: returns the blocks to request from the peer, lowest first, or the peer that stalls
   * the window.
   */
  #nextBlocksToDownload(peer: Peer, count: number, nowMs: number): { wanted: ChainEntry[]; staller: Peer | null } {
    const { chain, params } = this.#ctx;
    const { sync } = peer;
    const nothing = { wanted: [], staller: null };
    processBlockAvailability(peer, chain);
    const best = sync.bestKnown;
    if (best === null || best.chainwork < chain.tip.chainwork) return nothing;
    if (best.chainwork < params.consensus.minimumChainWork || best.failed) return nothing;
    sync.lastCommon = lastCommon(chain, sync.lastCommon, best);
    if (sync.lastCommon === best) return nothing;
    const windowEnd = sync.lastCommon.height + WINDOW;
    const wanted: ChainEntry[] = [];
    let waitingFor: Peer | null = null;
    for (let height = sync.lastCommon.height + 1; height <= Math.min(best.height, windowEnd + 1); height++) {
      const entry = best.ancestor(height)!;
      if (entry.failed) return nothing;
      if (entry.height >= params.consensus.segwitHeight && !peer.servesWitness) break;
      // A pruned block of the active chain is not needed again.
      if (entry.hasBody || isActive(chain, entry)) {
        if (entry.complete) sync.lastCommon = entry;
        continue;
      }
      const requests = this.requests.requestsFor(entry);
      if (requests.length > 0 && !this.#isUnresponsive(entry, peer, nowMs)) {
        waitingFor ??= requests[0]!.peer;
        continue;
      }
      if (height > windowEnd)
        return { wanted, staller: wanted.length === 0 && waitingFor !== peer ? waitingFor : null };
      // Skips blocks that a limited peer may be about to prune.
      if (isLimited(peer.services) && best.height - height >= LIMITED_BLOCKS - LIMITED_MARGIN) continue;
      wanted.push(entry);
      if (wanted.length === count) break;
    }
    return { wanted, staller: null };
  }
}

/** Returns the last common block of the active chain and `best`, at least as high as the previously known one. */
function lastCommon(chain: Chain, before: ChainEntry | null, best: ChainEntry): ChainEntry {
  const { tip } = chain;
  const start = before ?? tip.ancestor(Math.min(best.height, tip.height))!;
  const fork = forkPoint(start, best);
  // Our chain may have advanced along the peer's chain through other peers.
  const ours = forkPoint(tip, best);
  return ours.height > fork.height ? ours : fork;
}
