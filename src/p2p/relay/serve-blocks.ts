import type { ChainEntry } from '../../chain/chain-entry.ts';
import type { BlockHash } from '../../primitives/hash.ts';
import { equalBytes } from '../../util/bytes.ts';
import { filteredBlock } from '../merkle-block.ts';
import type { GetBlockTxnMessage } from '../messages/compact-blocks.ts';
import { type LocatorMessage, MAX_HEADERS } from '../messages/headers.ts';
import { INVENTORY, type InventoryItem } from '../messages/inventory.ts';
import type { PeerContext } from '../peer/context.ts';
import type { Peer } from '../peer/peer.ts';
import { isActive, locatorFork } from '../sync/availability.ts';
import { canDirectFetch, type RecentBlock } from './recent-block.ts';
import { maySee } from './shown-blocks.ts';
import { strippedBlock, strippedTransaction } from './stripped.ts';

/** Blocks told of in answer to `getblocks`. */
const MAX_BLOCK_INVENTORY = 500;
/** Older blocks count against the upload target. */
const HISTORICAL_AGE_S = 7 * 24 * 60 * 60;
/** How deep a block may be to be given as a compact one, and its transactions one by one. */
const MAX_COMPACT_DEPTH = 5;
const MAX_BLOCKTXN_DEPTH = 10;

/** Answers what is asked about blocks. */
export class ServeBlocks {
  readonly #ctx: PeerContext;
  readonly #recent: RecentBlock;

  constructor(ctx: PeerContext, recent: RecentBlock) {
    this.#ctx = ctx;
    this.#recent = recent;
  }

  getheaders(peer: Peer, { locator, stopHash }: LocatorMessage): void {
    const { chain, params } = this.#ctx;
    const { tip } = chain;
    // A peer that syncs would give up such a chain anyway; an empty answer tells it to go elsewhere.
    if (tip.chainwork < params.consensus.minimumChainWork && !peer.link.permissions.has('download')) {
      peer.link.send('headers', { headers: [] });
      return;
    }
    let entry: ChainEntry | null;
    if (locator.length === 0) {
      entry = chain.get(stopHash);
      if (entry === null || !maySee(this.#ctx, entry)) return;
    } else entry = this.#next(locatorFork(chain, locator));
    const headers = [];
    let last: ChainEntry | null = null;
    for (; entry !== null; entry = this.#next(entry)) {
      headers.push(entry.header);
      last = entry;
      if (headers.length === MAX_HEADERS || equalBytes(entry.hash, stopHash)) break;
    }
    // Not the higher of both: a block it was told of before and asks for again is to be announced once more.
    peer.sync.bestHeaderSent = last !== null && entry !== null ? last : tip;
    peer.link.send('headers', { headers });
  }

  getblocks(peer: Peer, { locator, stopHash }: LocatorMessage): void {
    const { chain } = this.#ctx;
    const items: InventoryItem[] = [];
    for (let entry = this.#next(locatorFork(chain, locator)); entry !== null; entry = this.#next(entry)) {
      if (equalBytes(entry.hash, stopHash)) break;
      items.push({ kind: INVENTORY.block, hash: entry.hash });
      if (items.length < MAX_BLOCK_INVENTORY) continue;
      // When it comes for this one, it is told that there is more.
      peer.blocks.continueAt = entry.hash;
      break;
    }
    if (items.length > 0) peer.link.send('inv', { items });
  }

  /** Answers one item of `getdata` that names a block; of one that it may not see, there is no answer. */
  async getdata(peer: Peer, { kind, hash }: InventoryItem): Promise<void> {
    const { chain, connections } = this.#ctx;
    const { link } = peer;
    if (kind === INVENTORY.filteredBlock && !link.permissions.has('bloomfilter')) {
      link.disconnect('filtered block requested without the service');
      return;
    }
    const entry = chain.get(hash);
    if (entry === null || !entry.hasBody) return;
    // Whoever was sent it before it was judged may need all of it: that is given when it is known to be good.
    if (this.#recent.isNext(entry) && !isActive(chain, entry)) await chain.settle().catch(() => {});
    if (link.closed || !maySee(this.#ctx, entry)) return;
    // Filtered blocks are for light clients, which come after new blocks for nodes.
    const historical = kind === INVENTORY.filteredBlock || chain.bestHeader.time - entry.time > HISTORICAL_AGE_S;
    if (historical && connections.uploadTargetReached(true) && !link.permissions.has('download')) {
      link.disconnect('upload target for historical blocks reached');
      return;
    }
    if (
      kind === INVENTORY.compactBlock &&
      entry.height >= chain.height - MAX_COMPACT_DEPTH &&
      canDirectFetch(this.#ctx)
    )
      link.sendPayload('cmpctblock', this.#recent.compact(entry));
    else if (kind === INVENTORY.filteredBlock) this.#sendFiltered(peer, entry);
    else if (kind === INVENTORY.block) link.sendPayload('block', strippedBlock(this.#recent.block(entry)));
    else link.sendPayload('block', chain.rawBlock(entry));
    this.#continue(peer, entry.hash);
  }

  getblocktxn(peer: Peer, { blockHash, indexes }: GetBlockTxnMessage): void | Promise<void> {
    const { chain } = this.#ctx;
    const entry = chain.get(blockHash);
    if (entry === null || !entry.hasBody || !(this.#recent.isNext(entry) || maySee(this.#ctx, entry))) return;
    // Whoever needs parts of an old block is better served by all of it, and cannot make us read it again and again.
    if (entry.height < chain.height - MAX_BLOCKTXN_DEPTH)
      return this.getdata(peer, { kind: INVENTORY.witnessBlock, hash: blockHash });
    const { txs } = this.#recent.block(entry);
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

  /** BIP-37; nothing without a filter. */
  #sendFiltered({ link, tx }: Peer, entry: ChainEntry): void {
    if (tx === null || tx.filter === null) return;
    const block = this.#recent.block(entry);
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

  /** The block behind this one in the active chain. */
  #next(entry: ChainEntry): ChainEntry | null {
    return this.#ctx.chain.tip.ancestor(entry.height + 1);
  }
}
