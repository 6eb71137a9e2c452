import type { ChainEntry } from '../../chain/chain-entry.ts';
import type { ParsedBlock } from '../../primitives/block.ts';
import { INVENTORY } from '../messages/inventory.ts';
import type { PeerContext } from '../peer/context.ts';
import type { Peer } from '../peer/peer.ts';
import { INVALID_COMPACT_VERSION, SENDHEADERS_VERSION } from '../protocol.ts';
import { hasHeader, isActive, resolveUnknown } from '../sync/availability.ts';
import type { RecentBlock } from './recent-block.ts';

/** More new blocks than this are not announced one by one. */
const MAX_ANNOUNCED = 8;

/** Tells peers of new blocks: as a compact block, by headers, or by hash, as each of them likes. */
export class BlockAnnouncer {
  readonly #ctx: PeerContext;
  readonly #recent: RecentBlock;
  /** Height of the highest block that was passed on before it was judged. */
  #passedOn = -1;

  constructor(ctx: PeerContext, recent: RecentBlock) {
    this.#ctx = ctx;
    this.#recent = recent;
  }

  /**
   * A block that is not judged yet: those who asked for compact blocks unasked get it at once (BIP-152). Of two on one
   * height the first, so that nobody can have us send many.
   */
  passOn(entry: ChainEntry, block: ParsedBlock): void {
    if (entry.height <= this.#passedOn) return;
    this.#passedOn = entry.height;
    this.#recent.setNext(entry, block);
    for (const peer of this.#ctx.peers.values()) {
      const { negotiated, sync, link } = peer;
      if (!negotiated.wantsCompactBlocks || negotiated.protocol < INVALID_COMPACT_VERSION) continue;
      resolveUnknown(peer, this.#ctx.chain);
      if (hasHeader(peer, entry) || !hasHeader(peer, entry.parent!)) continue;
      link.sendPayload('cmpctblock', this.#recent.compact(entry));
      sync.bestHeaderSent = entry;
    }
  }

  /** The chain has a new tip; `connected` are the blocks that joined it, the lowest first. */
  moved(connected: readonly ChainEntry[]): void {
    const tip = connected.at(-1);
    if (!tip) return;
    this.#recent.set(tip);
    if (this.#ctx.chain.initialSync) return;
    const news = connected.slice(-MAX_ANNOUNCED);
    for (const peer of this.#ctx.peers.values()) {
      peer.blocks.announce.push(...news);
      this.announce(peer);
    }
  }

  tick(peer: Peer): void {
    const { sync, negotiated, link } = peer;
    const { chain, params } = this.#ctx;
    if (sync.sentSendHeaders || negotiated.protocol < SENDHEADERS_VERSION) return;
    // Not before we follow its chain: headers we cannot connect would be of no use.
    if (sync.bestKnown === null || sync.bestKnown.chainwork <= params.consensus.minimumChainWork) return;
    if (chain.tip.chainwork < params.consensus.minimumChainWork) return;
    link.send('sendheaders', null);
    sync.sentSendHeaders = true;
  }

  announce(peer: Peer): void {
    const { announce } = peer.blocks;
    if (announce.length === 0) return;
    const news = announce.splice(0);
    resolveUnknown(peer, this.#ctx.chain);
    if (!this.#sendHeaders(peer, news)) this.#sendInventory(peer, news.at(-1)!);
  }

  /** Whether the blocks could be announced by their headers, or one of them as a whole. */
  #sendHeaders(peer: Peer, news: readonly ChainEntry[]): boolean {
    const { chain } = this.#ctx;
    const { link, negotiated, sync } = peer;
    const compact = negotiated.wantsCompactBlocks && news.length === 1;
    if ((!negotiated.prefersHeaders && !compact) || news.length > MAX_ANNOUNCED) return false;
    const unknown: ChainEntry[] = [];
    let before: ChainEntry | null = null;
    for (const entry of news) {
      // The chain may have left it again, or taken another way to it.
      if (!isActive(chain, entry) || (before !== null && entry.parent !== before)) return false;
      before = entry;
      if (unknown.length > 0) unknown.push(entry);
      else if (hasHeader(peer, entry)) continue;
      else if (entry.parent === null || hasHeader(peer, entry.parent)) unknown.push(entry);
      else return false;
    }
    const last = unknown.at(-1);
    // It knows them all.
    if (!last) return true;
    if (unknown.length === 1 && negotiated.wantsCompactBlocks)
      link.sendPayload('cmpctblock', this.#recent.compact(last));
    else if (negotiated.prefersHeaders) link.send('headers', { headers: unknown.map(({ header }) => header) });
    else return false;
    sync.bestHeaderSent = last;
    return true;
  }

  #sendInventory(peer: Peer, tip: ChainEntry): void {
    if (!hasHeader(peer, tip)) peer.link.send('inv', { items: [{ kind: INVENTORY.block, hash: tip.hash }] });
  }
}
