import type { ChainEntry } from '../../chain/chain-entry.ts';
import { locatorOf } from '../../chain/chain-entry.ts';
import { workOf } from '../../consensus/work.ts';
import type { ParsedTransaction } from '../../primitives/block.ts';
import type { Wtxid } from '../../primitives/hash.ts';
import { unixSeconds } from '../../util/clock.ts';
import { type BlockTransaction, reconstruct } from '../compact-block.ts';
import type { BlockTxnMessage, CompactBlock } from '../messages/compact-blocks.ts';
import { INVENTORY } from '../messages/inventory.ts';
import { COMPACT_BLOCKS } from '../p2p-protocol.ts';
import type { BlockRequest, Peer } from '../peer/peer.ts';
import { antiDosWork, type PeerContext } from '../peer/peer-context.ts';
import { updateBestKnown } from '../sync/availability.ts';
import type { BlockDownload } from '../sync/block-download.ts';
import { MAX_BLOCKS_PER_PEER, MAX_REQUESTS_OF_BLOCK } from '../sync/block-requests.ts';
import type { HeaderSync } from '../sync/header-sync.ts';
import { punishForBlock } from '../sync/punish.ts';
import { canDirectFetch } from './recent-block.ts';

/** Number of peers selected for high-bandwidth compact blocks (BIP-152). */
const MAX_HIGH_BANDWIDTH = 3;
/** Blocks higher above the tip contain too few transactions of our mempool. */
const MAX_AHEAD = 2;
/**
 * Number and maximum size of transactions outside the mempool that are kept for reconstruction (Core's
 * vExtraTxnForCompact).
 */
const MAX_EXTRA = 100;
const MAX_EXTRA_SIZE = 100_000;

/** Receives compact blocks (BIP-152) and reconstructs them from known transactions. */
export class CompactRelay {
  readonly #ctx: PeerContext;
  readonly #download: BlockDownload;
  readonly #headers: HeaderSync;
  /** Peers in high-bandwidth mode, the most recently useful one last. */
  readonly #highBandwidth: Peer[] = [];
  readonly #extra: BlockTransaction[] = [];
  #nextExtra = 0;

  constructor(ctx: PeerContext, download: BlockDownload, headers: HeaderSync) {
    this.#ctx = ctx;
    this.#download = download;
    this.#headers = headers;
  }

  removePeer(peer: Peer): void {
    const at = this.#highBandwidth.indexOf(peer);
    if (at >= 0) this.#highBandwidth.splice(at, 1);
  }

  /** Stores a transaction that is not in the mempool but may appear in a block. */
  addExtraTransaction({ wtxid, raw }: ParsedTransaction): void {
    if (raw.length >= MAX_EXTRA_SIZE) return;
    this.#extra[this.#nextExtra] = { wtxid: wtxid.slice() as Wtxid, raw: raw.slice() };
    this.#nextExtra = (this.#nextExtra + 1) % MAX_EXTRA;
  }

  /**
   * Core's MaybeSetPeerAsAnnouncingHeaderAndIDs: a peer that delivered the new tip is likely to be first again, so it
   * is selected for high-bandwidth mode.
   */
  selectHighBandwidth(peer: Peer): void {
    const { chain, options } = this.#ctx;
    // The mempool of a blocks-only node has few transactions of a block.
    if (
      options.blocksOnly ||
      chain.initialSync ||
      this.#download.requests.size > 0 ||
      peer.gone ||
      !peer.negotiated.compactBlocks
    )
      return;
    const at = this.#highBandwidth.indexOf(peer);
    if (at >= 0) {
      this.#highBandwidth.push(...this.#highBandwidth.splice(at, 1));
      return;
    }
    if (peer.inbound && this.#highBandwidth.length >= MAX_HIGH_BANDWIDTH) {
      const outbound = this.#highBandwidth.filter(({ inbound }) => !inbound);
      // One outbound peer is always kept, since an attacker chooses its inbound connections.
      if (outbound.length === 1 && outbound[0] === this.#highBandwidth[0])
        [this.#highBandwidth[0], this.#highBandwidth[1]] = [this.#highBandwidth[1]!, this.#highBandwidth[0]!];
    }
    this.#sendHighBandwidth(peer, true);
    this.#highBandwidth.push(peer);
    if (this.#highBandwidth.length > MAX_HIGH_BANDWIDTH) this.#sendHighBandwidth(this.#highBandwidth.shift()!, false);
  }

  /** Processes `cmpctblock`, requested or unsolicited. */
  async onCompactBlock(peer: Peer, compact: CompactBlock): Promise<void> {
    const { chain, clock } = this.#ctx;
    if (!peer.negotiated.compactBlocks || this.#ctx.options.blocksOnly) return;
    const parent = chain.findEntry(compact.header.previousHash);
    if (parent === null) {
      if (!chain.initialSync) this.#headers.maybeSendGetHeaders(peer, locatorOf(chain.bestHeader));
      return;
    }
    if (parent.chainwork + workOf(compact.header.bits) < antiDosWork(this.#ctx)) {
      this.#ctx.log.debug('compact block ignored: its chain has too little work', { peer: peer.id });
      return;
    }
    const { last: entry, rejection, added } = await chain.acceptHeaders([compact.header]);
    if (rejection !== null) return punishForBlock(this.#ctx, peer, rejection, true);
    if (entry === null || peer.gone) return;
    updateBestKnown(peer, entry);
    if (added > 0 && entry.chainwork > chain.tip.chainwork) peer.sync.lastAnnouncementAt = unixSeconds(clock);
    if (entry.hasBody) return;
    if (entry.hadBody) {
      // The block was pruned, so it is too old for our mempool to help.
      if (this.#download.requests.find(entry, peer)) this.#requestFullBlock(peer, entry);
      return;
    }
    await this.#processCompactBlock(peer, entry, compact);
  }

  /** Processes `blocktxn`. */
  async onBlockTxn(peer: Peer, { blockHash, txs }: BlockTxnMessage): Promise<void> {
    const entry = this.#ctx.chain.findEntry(blockHash);
    const request = entry && this.#download.requests.find(entry, peer);
    if (!request) return;
    if (request.reconstructionFailed) {
      this.#download.requests.remove(request.entry, this.#nowMs(), peer);
      return this.#ctx.misbehaving(peer, 'previous compact block reconstruction attempt failed');
    }
    if (request.partial === null) return;
    await this.#completeBlock(request, txs);
  }

  async #processCompactBlock(peer: Peer, entry: ChainEntry, compact: CompactBlock): Promise<void> {
    const { chain } = this.#ctx;
    const { requests } = this.#download;
    const others = requests.requestsFor(entry).length;
    const asked = requests.find(entry, peer) !== null;
    if (!asked && !peer.sendsCompactBlocks) return;
    if (entry.chainwork <= chain.tip.chainwork || entry.height > chain.height + MAX_AHEAD) {
      // The block has no more work than our tip, or is too far ahead for our mempool to help.
      if (asked) this.#requestFullBlock(peer, entry);
      else if (entry.height > chain.height + MAX_AHEAD) await this.#headers.onHeaders(peer, [compact.header]);
      return;
    }
    if (others === 0 && !canDirectFetch(this.#ctx)) return;
    const mayAsk = others < MAX_REQUESTS_OF_BLOCK && peer.sync.inFlight.length < MAX_BLOCKS_PER_PEER;
    if (!asked && !mayAsk) return this.#reconstructOptimistically(peer, entry, compact);
    const first = others === 0 || requests.requestsFor(entry)[0]!.peer === peer;
    const request = requests.add(peer, entry, this.#nowMs());
    if (request.partial !== null || request.reconstructionFailed) return;
    const result = reconstruct(compact, this.#candidates());
    if (result.status === 'invalid') {
      requests.remove(entry, this.#nowMs(), peer);
      return this.#ctx.misbehaving(peer, `invalid compact block: ${result.reason}`);
    }
    if (result.status !== 'ok') return this.#fallBack(request, first);
    const missing = result.block.missing();
    result.block.copyTransactions();
    request.partial = result.block;
    if (missing.length === 0) return this.#completeBlock(request, []);
    // Parallel requests need a high-bandwidth peer, and the last slot is reserved for outbound peers (as in Core).
    const outboundAsked = requests.requestsFor(entry).some((other) => other.peer !== peer && !other.peer.inbound);
    const parallel = peer.sendsCompactBlocks && (!peer.inbound || outboundAsked || others < MAX_REQUESTS_OF_BLOCK - 1);
    if (!first && !parallel) return requests.remove(entry, this.#nowMs(), peer);
    peer.link.send('getblocktxn', { blockHash: entry.hash, indexes: missing });
  }

  /** Tries to reconstruct a block that other peers are downloading, without a request to this peer. */
  async #reconstructOptimistically(peer: Peer, entry: ChainEntry, compact: CompactBlock): Promise<void> {
    const result = reconstruct(compact, this.#candidates());
    if (result.status !== 'ok' || result.block.missing().length > 0) return;
    const filled = result.block.fillBlock([]);
    if (filled.status === 'ok') await this.#download.submitBlock(peer, entry, filled.raw, true);
  }

  async #completeBlock(request: BlockRequest, txs: readonly ParsedTransaction[]): Promise<void> {
    const { peer, entry } = request;
    const { requests } = this.#download;
    const filled = request.partial!.fillBlock(txs);
    const first = requests.requestsFor(entry)[0] === request;
    request.partial = null;
    if (filled.status === 'invalid') {
      requests.remove(entry, this.#nowMs(), peer);
      return this.#ctx.misbehaving(peer, `invalid compact block: ${filled.reason}`);
    }
    if (filled.status !== 'ok') return this.#fallBack(request, first, true);
    const rejection = await this.#download.submitBlock(peer, entry, filled.raw, true);
    // A short id collision also causes this, so the peer is not blamed and the full block is requested.
    if (rejection?.kind === 'mutated' && first && !peer.gone && !entry.hasBody)
      this.#requestFullBlock(peer, entry, true);
  }

  #fallBack({ peer, entry }: BlockRequest, first: boolean, hasFailed = false): void {
    if (first) this.#requestFullBlock(peer, entry, hasFailed);
    else this.#download.requests.remove(entry, this.#nowMs(), peer);
  }

  /** `hasFailed`: the transactions of the peer did not complete the block, and it may not send them again. */
  #requestFullBlock(peer: Peer, entry: ChainEntry, hasFailed = false): void {
    const request = this.#download.requests.add(peer, entry, this.#nowMs());
    if (hasFailed) request.reconstructionFailed = true;
    peer.link.send('getdata', { items: [{ kind: INVENTORY.witnessBlock, hash: entry.hash }] });
  }

  /** Yields the known transactions: those of the mempool first, then the extra transactions. */
  *#candidates(): Generator<BlockTransaction> {
    yield* this.#ctx.mempool.relay.candidates();
    yield* this.#extra;
  }

  #sendHighBandwidth(peer: Peer, announce: boolean): void {
    peer.sendsCompactBlocks = announce;
    peer.link.send('sendcmpct', { announce, version: COMPACT_BLOCKS });
  }

  #nowMs(): number {
    return this.#ctx.clock.monotonicMs();
  }
}
