import type { ChainEntry } from '../../chain/chain-entry.ts';
import type { BlockHash } from '../../primitives/hash.ts';
import { equalBytes } from '../../util/bytes.ts';
import { filteredBlock } from '../filtered-block.ts';
import type { GetBlockTxnMessage } from '../messages/compact-blocks.ts';
import { type LocatorMessage, MAX_HEADERS } from '../messages/headers.ts';
import { INVENTORY, type InventoryItem } from '../messages/inventory.ts';
import { isLimited, LIMITED_BLOCKS } from '../p2p-protocol.ts';
import type { Peer } from '../peer/peer.ts';
import { offersBloom, type PeerContext } from '../peer/peer-context.ts';
import { isActive, locatorFork } from '../sync/availability.ts';
import { isBlockRequestAllowed } from './block-request-allowed.ts';
import { canDirectFetch, type RecentBlock } from './recent-block.ts';
import { strippedBlock, strippedTransaction } from './stripped.ts';

/** Maximum number of blocks in the answer to `getblocks`. */
const MAX_BLOCK_INVENTORY = 500;
/** Age from which a block counts as historical for the upload target, seconds. */
const HISTORICAL_AGE_S = 7 * 24 * 60 * 60;
/**
 * Maximum depth below the tip of blocks sent as compact blocks, and of blocks whose transactions are sent by
 * `blocktxn`.
 */
const MAX_COMPACT_DEPTH = 5;
const MAX_BLOCKTXN_DEPTH = 10;

/** Seconds for which a pruned node keeps the blocks that it announces in the answer to `getblocks`, as in Core. */
const ANNOUNCED_FOR_S = 3600;
/** Depth below the tip down to which a limited node serves blocks: BIP-159's, and two blocks for races. */
const LIMITED_DEPTH = LIMITED_BLOCKS + 2;

/** Serves headers and blocks to peers. */
export class ServeBlocks {
  readonly #ctx: PeerContext;
  readonly #recent: RecentBlock;

  constructor(ctx: PeerContext, recent: RecentBlock) {
    this.#ctx = ctx;
    this.#recent = recent;
  }

  onGetHeaders(peer: Peer, { locator, stopHash }: LocatorMessage): void {
    const { chain, params } = this.#ctx;
    const { tip } = chain;
    // A syncing peer would reject a chain with too little work; an empty answer makes it use other peers.
    if (tip.chainwork < params.consensus.minimumChainWork && !peer.link.permissions.has('download')) {
      peer.link.send('headers', { headers: [] });
      return;
    }
    let entry: ChainEntry | null;
    if (locator.length === 0) {
      entry = chain.findEntry(stopHash);
      if (entry === null || !isBlockRequestAllowed(this.#ctx, entry)) return;
    } else entry = this.#next(locatorFork(chain, locator));
    const headers = [];
    let last: ChainEntry | null = null;
    for (; entry !== null; entry = this.#next(entry)) {
      headers.push(entry.header);
      last = entry;
      if (headers.length === MAX_HEADERS || equalBytes(entry.hash, stopHash)) break;
    }
    // Set even if it is lower than before: the peer may have discarded a header it was sent, and it must be announced
    // again.
    peer.sync.bestHeaderSent = last !== null && entry !== null ? last : tip;
    peer.link.send('headers', { headers });
  }

  onGetBlocks(peer: Peer, { locator, stopHash }: LocatorMessage): void {
    const { chain, params } = this.#ctx;
    const kept = LIMITED_BLOCKS - Math.floor(ANNOUNCED_FOR_S / params.consensus.powTargetSpacing);
    const items: InventoryItem[] = [];
    for (let entry = this.#next(locatorFork(chain, locator)); entry !== null; entry = this.#next(entry)) {
      if (equalBytes(entry.hash, stopHash)) break;
      if (chain.pruner !== null && (!entry.hasBody || entry.height <= chain.tip.height - kept)) break;
      items.push({ kind: INVENTORY.block, hash: entry.hash });
      if (items.length < MAX_BLOCK_INVENTORY) continue;
      // When the peer requests this block, the tip is announced so that it continues.
      peer.blocks.continueAt = entry.hash;
      break;
    }
    if (items.length > 0) peer.link.send('inv', { items });
  }

  /** Serves one block item of `getdata`. Blocks that the peer may not request are not answered. */
  async serveBlock(peer: Peer, { kind, hash }: InventoryItem): Promise<void> {
    const { chain, connections } = this.#ctx;
    const { link } = peer;
    if (kind === INVENTORY.filteredBlock && !offersBloom(this.#ctx, peer)) {
      link.disconnect('filtered block requested without the service');
      return;
    }
    const entry = chain.findEntry(hash);
    if (entry === null) return;
    // A peer that received this block before its validation may request it in full, so the answer waits for the result.
    if (this.#recent.isUnvalidated(entry) && !isActive(chain, entry)) await chain.settle().catch(() => {});
    if (link.closed || !isBlockRequestAllowed(this.#ctx, entry)) return;
    // Filtered blocks serve light clients, so they count as historical: new blocks for nodes take precedence.
    const historical = kind === INVENTORY.filteredBlock || chain.bestHeader.time - entry.time > HISTORICAL_AGE_S;
    if (historical && connections.uploadTargetReached(true) && !link.permissions.has('download')) {
      link.disconnect('upload target for historical blocks reached');
      return;
    }
    // The answer must not show down to which height blocks are stored. The peer would wait for a missing block.
    const limited = isLimited(peer.offered(this.#ctx.options.services)) && !link.permissions.has('noban');
    if (limited && chain.tip.height - entry.height > LIMITED_DEPTH) {
      link.disconnect('block below the depth of a limited node requested');
      return;
    }
    if (!entry.hasBody) return;
    if (
      kind === INVENTORY.compactBlock &&
      entry.height >= chain.height - MAX_COMPACT_DEPTH &&
      canDirectFetch(this.#ctx)
    )
      link.sendPayload('cmpctblock', this.#recent.compactPayload(entry));
    else if (kind === INVENTORY.filteredBlock) this.#sendFiltered(peer, entry);
    else if (kind === INVENTORY.block) link.sendPayload('block', strippedBlock(this.#recent.readBlock(entry)));
    else link.sendPayload('block', chain.readRawBlock(entry));
    this.#continue(peer, entry.hash);
  }

  onGetBlockTxn(peer: Peer, { blockHash, indexes }: GetBlockTxnMessage): void | Promise<void> {
    if (indexes.length === 0) {
      peer.link.disconnect('getblocktxn without indexes');
      return;
    }
    const { chain } = this.#ctx;
    const entry = chain.findEntry(blockHash);
    if (
      entry === null ||
      !entry.hasBody ||
      !(this.#recent.isUnvalidated(entry) || isBlockRequestAllowed(this.#ctx, entry))
    )
      return;
    // For an old block the full block is sent (as in Core), which also prevents repeated reads of it.
    if (entry.height < chain.height - MAX_BLOCKTXN_DEPTH)
      return this.serveBlock(peer, { kind: INVENTORY.witnessBlock, hash: blockHash });
    const { txs } = this.#recent.readBlock(entry);
    const wanted = [];
    for (const index of indexes) {
      const tx = txs[index];
      if (!tx) {
        this.#ctx.misbehaving(peer, 'getblocktxn with out-of-bounds tx indices');
        return;
      }
      wanted.push(tx);
    }
    peer.link.send('blocktxn', { blockHash, txs: wanted });
  }

  /** Sends `merkleblock` and the matching transactions (BIP-37); nothing if the peer has no filter. */
  #sendFiltered({ link, tx }: Peer, entry: ChainEntry): void {
    if (tx === null || tx.filter === null) return;
    const block = this.#recent.readBlock(entry);
    const { message, matched } = filteredBlock(block, tx.filter);
    link.send('merkleblock', message);
    for (const index of matched) link.sendPayload('tx', strippedTransaction(block.txs[index]!));
  }

  #continue(peer: Peer, hash: BlockHash): void {
    const { continueAt } = peer.blocks;
    if (continueAt === null || !equalBytes(continueAt, hash)) return;
    peer.blocks.continueAt = null;
    peer.link.send('inv', { items: [{ kind: INVENTORY.block, hash: this.#ctx.chain.tip.hash }] });
  }

  /** Returns the next block of the active chain. */
  #next(entry: ChainEntry): ChainEntry | null {
    return this.#ctx.chain.tip.ancestor(entry.height + 1);
  }
}
