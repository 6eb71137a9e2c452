import type { ChainEntry } from '../../chain/chain-entry.ts';
import type { ParsedBlock } from '../../primitives/block.ts';
import { INVENTORY } from '../messages/inventory.ts';
import { INVALID_COMPACT_VERSION, SENDHEADERS_VERSION } from '../p2p-protocol.ts';
import type { Peer } from '../peer/peer.ts';
import type { PeerContext } from '../peer/peer-context.ts';
import { hasHeader, isActive, processBlockAvailability } from '../sync/availability.ts';
import type { RecentBlock } from './recent-block.ts';

/** Maximum number of blocks announced by headers at once (Core's MAX_BLOCKS_TO_ANNOUNCE). */
const MAX_ANNOUNCED = 8;

/** Announces new blocks to each peer in its preferred form: compact block, headers or inventory. */
export class BlockAnnouncer {
  readonly #ctx: PeerContext;
  readonly #recent: RecentBlock;
  /** Height of the highest block announced before its validation. */
  #highestUnvalidated = -1;

  constructor(ctx: PeerContext, recent: RecentBlock) {
    this.#ctx = ctx;
    this.#recent = recent;
  }

  /**
   * Core's NewPoWValidBlock: sends a block before its validation to the peers in high-bandwidth mode (BIP-152). Only
   * the first block at a height is sent, which limits what an attacker can make us relay.
   */
  announceUnvalidated(entry: ChainEntry, block: ParsedBlock): void {
    if (entry.height <= this.#highestUnvalidated) return;
    this.#highestUnvalidated = entry.height;
    this.#recent.setUnvalidated(entry, block);
    for (const peer of this.#ctx.peers.values()) {
      const { negotiated, sync, link } = peer;
      if (!negotiated.wantsCompactBlocks || negotiated.protocol < INVALID_COMPACT_VERSION) continue;
      processBlockAvailability(peer, this.#ctx.chain);
      if (hasHeader(peer, entry) || !hasHeader(peer, entry.parent!)) continue;
      link.sendPayload('cmpctblock', this.#recent.compactPayload(entry));
      sync.bestHeaderSent = entry;
    }
  }

  /** Announces a new tip. `connected` are the blocks that were connected, lowest first. */
  onNewTip(connected: readonly ChainEntry[]): void {
    const tip = connected.at(-1);
    if (!tip) return;
    this.#recent.setTip(tip);
    if (this.#ctx.chain.initialSync) return;
    const entries = connected.slice(-MAX_ANNOUNCED);
    for (const peer of this.#ctx.peers.values()) {
      peer.blocks.announce.push(...entries);
      this.announce(peer);
    }
  }

  tick(peer: Peer): void {
    const { sync, negotiated, link } = peer;
    const { chain, params } = this.#ctx;
    if (sync.sentSendHeaders || negotiated.protocol < SENDHEADERS_VERSION) return;
    // Peers are asked for header announcements only once they follow our chain, otherwise the headers would not
    // connect.
    if (sync.bestKnown === null || sync.bestKnown.chainwork <= params.consensus.minimumChainWork) return;
    if (chain.tip.chainwork < params.consensus.minimumChainWork) return;
    link.send('sendheaders', null);
    sync.sentSendHeaders = true;
  }

  announce(peer: Peer): void {
    const { announce } = peer.blocks;
    if (announce.length === 0) return;
    const entries = announce.splice(0);
    processBlockAvailability(peer, this.#ctx.chain);
    if (!this.#sendHeaders(peer, entries)) this.#sendInventory(peer, entries.at(-1)!);
  }

  /** Announces blocks by headers or as a compact block; returns false if neither is possible. */
  #sendHeaders(peer: Peer, entries: readonly ChainEntry[]): boolean {
    const { chain } = this.#ctx;
    const { link, negotiated, sync } = peer;
    const compact = negotiated.wantsCompactBlocks && entries.length === 1;
    if ((!negotiated.prefersHeaders && !compact) || entries.length > MAX_ANNOUNCED) return false;
    const unknown: ChainEntry[] = [];
    let before: ChainEntry | null = null;
    for (const entry of entries) {
      // The blocks may have been disconnected again or may not be consecutive.
      if (!isActive(chain, entry) || (before !== null && entry.parent !== before)) return false;
      before = entry;
      if (unknown.length > 0) unknown.push(entry);
      else if (hasHeader(peer, entry)) continue;
      else if (entry.parent === null || hasHeader(peer, entry.parent)) unknown.push(entry);
      else return false;
    }
    const last = unknown.at(-1);
    // The peer has all of them.
    if (!last) return true;
    if (unknown.length === 1 && negotiated.wantsCompactBlocks)
      link.sendPayload('cmpctblock', this.#recent.compactPayload(last));
    else if (negotiated.prefersHeaders) link.send('headers', { headers: unknown.map(({ header }) => header) });
    else return false;
    sync.bestHeaderSent = last;
    return true;
  }

  #sendInventory(peer: Peer, tip: ChainEntry): void {
    if (!hasHeader(peer, tip)) peer.link.send('inv', { items: [{ kind: INVENTORY.block, hash: tip.hash }] });
  }
}
