import type { RelayFacts } from '../../mempool/relay.ts';
import { type ParsedTransaction, parseTransaction } from '../../primitives/block.ts';
import { hashToHex, type Wtxid } from '../../primitives/hash.ts';
import { unixSeconds } from '../../util/clock.ts';
import { poissonDelay } from '../../util/random.ts';
import { RollingBloomFilter } from '../../util/rolling-bloom-filter.ts';
import type { NetworkClass } from '../address/net-group.ts';
import type { BloomFilter } from '../bloom-filter.ts';
import type { PeerLink } from '../connections/peer-link.ts';
import { INVENTORY, type InventoryItem, MAX_INVENTORY } from '../messages/inventory.ts';
import { FEEFILTER_VERSION } from '../p2p-protocol.ts';
import type { Peer, TxRelayState } from '../peer/peer.ts';
import { claimTxRelaySlot, offersBloom, type PeerContext } from '../peer/peer-context.ts';
import { AnnouncementBudget, type BudgetView } from './announcement-budget.ts';
import { FeeFilterRounder } from './fee-filter.ts';
import type { RecentBlock } from './recent-block.ts';
import { strippedTransaction } from './stripped.ts';

/** Mean delays between announcements to a peer; all inbound peers of a network share one timer (as in Core). */
const INBOUND_MEAN_MS = 5000;
const OUTBOUND_MEAN_MS = 2000;
/** Announcements to outbound peers are more frequent, and so many more transactions per second pass. */
const OUTBOUND_FACTOR = INBOUND_MEAN_MS / OUTBOUND_MEAN_MS;
/** Maximum queue length per peer; the oldest entries are dropped, as other peers announce them too. */
const MAX_QUEUE = 50_000;
/** Number of queued transactions sorted per announcement, oldest first. */
const MAX_ORDERED = 5000;
const KNOWN = 50_000;
const KNOWN_RATE = 1e-6;
const FEE_FILTER_MEAN_MS = 10 * 60_000;
const FEE_FILTER_CHANGE_MS = 5 * 60_000;
const MAX_MONEY = 2_100_000_000_000_000;
/** Interval for announcing submitted transactions again that no peer has requested. */
const REBROADCAST_MS = 10 * 60_000;
const REBROADCAST_SPREAD_MS = 5 * 60_000;

/** Announces transactions of the mempool to peers and serves them. */
export class TxRelay {
  readonly #ctx: PeerContext;
  readonly #recent: RecentBlock;
  readonly #rounder: FeeFilterRounder;
  readonly #maxFilter: number;
  readonly #budgets: { readonly inbound: AnnouncementBudget; readonly outbound: AnnouncementBudget };
  readonly #nextInbound = new Map<NetworkClass, number>();
  #nextRebroadcast: number;

  constructor(ctx: PeerContext, recent: RecentBlock) {
    this.#ctx = ctx;
    this.#recent = recent;
    this.#rounder = new FeeFilterRounder(Number(ctx.mempool.mempool.options.incrementalFeerate), ctx.random);
    this.#maxFilter = this.#rounder.round(MAX_MONEY);
    const { sendRate } = ctx.options;
    this.#budgets = {
      inbound: new AnnouncementBudget(sendRate, 1),
      outbound: new AnnouncementBudget(sendRate, OUTBOUND_FACTOR),
    };
    this.#nextRebroadcast = ctx.clock.monotonicMs() + this.#rebroadcastDelay();
  }

  /** Sets up transaction relay after the peer's `version`. */
  setUpPeer(peer: Peer): void {
    const { type } = peer.link;
    if (type === 'block-relay-only' || type === 'feeler') return;
    const wanted = peer.negotiated.version!.relay;
    // Without `relay` in its version, a peer can still request transactions by loading a filter (BIP-37).
    if (!wanted && !offersBloom(this.#ctx, peer)) return;
    peer.tx = {
      wanted,
      filter: null,
      known: new RollingBloomFilter(KNOWN, KNOWN_RATE),
      queue: new Map(),
      nextAnnouncementAt: 0,
      nextSequence: 0,
      mempoolSequence: 1,
      lastAnnouncedAt: 0,
      sendMempool: false,
      feeFilter: 0,
      sentFeeFilter: 0,
      nextFeeFilterAt: 0,
      announced: 0,
    };
    peer.link.standing.relaysTransactions = wanted;
  }

  /** Queues a transaction of the mempool for announcement; returns the number of peers that it is announced to. */
  announceTransaction(wtxid: Wtxid): number {
    const { inbound, outbound } = this.#budgets;
    inbound.enqueue(wtxid);
    outbound.enqueue(wtxid);
    this.queueReleased(this.#ctx.clock.monotonicMs());
    let count = 0;
    for (const { tx } of this.#ctx.peers.values()) if (isReady(tx)) count++;
    return count;
  }

  /** Queues the transactions that the rate of announcements allows now for each peer. */
  queueReleased(nowMs: number): void {
    const order = (wtxids: Iterable<Wtxid>) => this.#ctx.mempool.relay.inAnnouncementOrder(wtxids, 'wtxid');
    const inbound = this.#budgets.inbound.release(nowMs, order);
    const outbound = this.#budgets.outbound.release(nowMs, order);
    if (inbound.length === 0 && outbound.length === 0) return;
    let anyInbound = false;
    let anyOutbound = false;
    for (const peer of this.#ctx.peers.values()) {
      if (!isReady(peer.tx)) continue;
      if (peer.inbound) anyInbound = true;
      else anyOutbound = true;
      for (const wtxid of peer.inbound ? inbound : outbound) queueFor(peer.tx, wtxid);
    }
    // Without peers of a direction nothing waits for those that come.
    if (!anyInbound) this.#budgets.inbound.clear();
    if (!anyOutbound) this.#budgets.outbound.clear();
  }

  /** Returns the state of the budgets of announcements, by direction. */
  budgets(): { readonly inbound: BudgetView; readonly outbound: BudgetView } {
    return { inbound: this.#budgets.inbound.view(), outbound: this.#budgets.outbound.view() };
  }

  /** Records that the peer has the transaction, because it announced, sent or received it. */
  markKnown(peer: Peer, hash: Uint8Array): void {
    peer.tx?.known.insert(hash);
  }

  /** Sets the filter for announcements (BIP-37); null announces everything. */
  setBloomFilter({ tx, link }: Peer, filter: BloomFilter | null): void {
    if (tx === null) return;
    tx.filter = filter;
    tx.wanted = true;
    link.standing.relaysTransactions = true;
    link.standing.hasBloomFilter = filter !== null;
    claimTxRelaySlot(this.#ctx, link, 'too many transaction relay peers after a filter');
  }

  onFeeFilter(peer: Peer, feerate: bigint): void {
    if (peer.tx !== null && feerate >= 0n && feerate <= BigInt(MAX_MONEY)) peer.tx.feeFilter = Number(feerate);
  }

  /**
   * Processes `mempool` (BIP-35). It needs the mempool permission, or the bloomfilter permission (BIP-111) within the
   * upload target.
   */
  onMempool(peer: Peer): void {
    const { link, tx } = peer;
    const allowed = link.permissions.has('mempool');
    if (!allowed && !offersBloom(this.#ctx, peer)) disconnectUnlessNoban(link, 'mempool request without permission');
    else if (!allowed && this.#ctx.connections.uploadTargetReached(false))
      disconnectUnlessNoban(link, 'mempool request beyond the upload target');
    else if (tx !== null) tx.sendMempool = true;
  }

  tick(peer: Peer, nowMs: number): void {
    this.#sendFeeFilter(peer, nowMs);
    const { tx } = peer;
    if (tx === null) return;
    let due = peer.link.permissions.has('noban');
    if (tx.nextAnnouncementAt <= nowMs) {
      due = true;
      tx.nextAnnouncementAt = peer.inbound
        ? this.#nextForInbound(peer.link.network, nowMs)
        : nowMs + poissonDelay(OUTBOUND_MEAN_MS, this.#ctx.random);
    }
    if (!due) return;
    if (!tx.wanted) tx.queue.clear();
    if (tx.sendMempool) this.#announceAll(peer, tx);
    if (tx.queue.size > 0) this.#announceQueued(peer, tx);
  }

  /** Periodically announces submitted transactions again that no peer has requested. */
  rebroadcast(nowMs: number): void {
    if (nowMs < this.#nextRebroadcast) return;
    this.#nextRebroadcast = nowMs + this.#rebroadcastDelay();
    for (const { wtxid } of this.#ctx.mempool.relay.unbroadcast()) this.announceTransaction(wtxid);
  }

  /** Makes the next `rebroadcast` due earlier. */
  advanceRebroadcast(ms: number): void {
    this.#nextRebroadcast -= ms;
  }

  /** Serves one transaction item of `getdata`. Returns false if it is not found. */
  serveTransaction(peer: Peer, { kind, hash }: InventoryItem): boolean {
    const { tx, link } = peer;
    if (tx === null) return true;
    const { relay } = this.#ctx.mempool;
    const entry = relay.transaction(hash, kind === INVENTORY.wtx ? 'wtxid' : 'txid');
    // Only announced transactions are served, otherwise requests could reveal when a transaction arrived.
    const found: Found | null =
      entry !== null && entry.sequence < tx.nextSequence ? entry : this.#recent.findTransaction(hash);
    if (found === null) return false;
    link.sendPayload('tx', kind === INVENTORY.tx ? strippedTransaction(parseTransaction(found.raw)) : found.raw);
    relay.markRequested(found.txid);
    return true;
  }

  #announceQueued(peer: Peer, tx: TxRelayState): void {
    const first = [...tx.queue.entries().take(MAX_ORDERED)];
    for (const [key] of first) tx.queue.delete(key);
    const items: InventoryItem[] = [];
    // Transactions that left the mempool are not returned here.
    for (const facts of this.#ctx.mempool.relay.inAnnouncementOrder(
      first.map(([, wtxid]) => wtxid),
      'wtxid',
    )) {
      const item = itemFor(peer, facts);
      if (!meetsFeeFilter(tx, facts) || tx.known.contains(item.hash) || !this.#matches(tx, facts)) continue;
      tx.known.insert(item.hash);
      items.push(item);
    }
    this.#send(peer, tx, items);
  }

  #announceAll(peer: Peer, tx: TxRelayState): void {
    tx.sendMempool = false;
    tx.queue.clear();
    const items: InventoryItem[] = [];
    for (const facts of this.#ctx.mempool.relay.transactions()) {
      if (!meetsFeeFilter(tx, facts) || !this.#matches(tx, facts)) continue;
      const item = itemFor(peer, facts);
      tx.known.insert(item.hash);
      items.push(item);
    }
    this.#send(peer, tx, items);
  }

  #matches({ filter }: TxRelayState, { wtxid }: RelayFacts): boolean {
    if (filter === null) return true;
    const entry = this.#ctx.mempool.relay.transaction(wtxid, 'wtxid');
    return entry !== null && filter.matchAndUpdate(parseTransaction(entry.raw));
  }

  #send(peer: Peer, tx: TxRelayState, items: readonly InventoryItem[]): void {
    tx.nextSequence = this.#ctx.mempool.relay.nextSequence;
    tx.mempoolSequence = this.#ctx.mempool.mempool.sequence;
    for (let at = 0; at < items.length; at += MAX_INVENTORY)
      peer.link.send('inv', { items: items.slice(at, at + MAX_INVENTORY) });
    if (items.length === 0) return;
    tx.announced += items.length;
    tx.lastAnnouncedAt = unixSeconds(this.#ctx.clock);
  }

  /** Sends `feefilter` (BIP-133), so that peers do not announce transactions that the mempool would reject. */
  #sendFeeFilter({ link, negotiated, tx }: Peer, nowMs: number): void {
    if (tx === null || negotiated.protocol < FEEFILTER_VERSION || link.permissions.has('forcerelay')) return;
    const { chain, mempool, random, options } = this.#ctx;
    // No transactions are wanted at all.
    if (options.blocksOnly) return;
    // 0 unless the mempool is full: rounding must not raise the filter above the minimum relay feerate.
    const { fullFeerate } = mempool.mempool;
    const minRelayFeerate = Number(mempool.mempool.options.minRelayFeerate);
    // During initial block download transactions cannot be validated, so none are wanted.
    const current = chain.initialSync ? MAX_MONEY : fullFeerate;
    if (!chain.initialSync && tx.sentFeeFilter === this.#maxFilter) tx.nextFeeFilterAt = 0;
    if (nowMs > tx.nextFeeFilterAt) {
      const filter = Math.max(this.#rounder.round(current), minRelayFeerate);
      if (filter !== tx.sentFeeFilter) link.send('feefilter', { feerate: BigInt(filter) });
      tx.sentFeeFilter = filter;
      tx.nextFeeFilterAt = nowMs + poissonDelay(FEE_FILTER_MEAN_MS, random);
      return;
    }
    const changed = current < (tx.sentFeeFilter * 3) / 4 || current > (tx.sentFeeFilter * 4) / 3;
    if (changed && nowMs + FEE_FILTER_CHANGE_MS < tx.nextFeeFilterAt)
      tx.nextFeeFilterAt = nowMs + random(FEE_FILTER_CHANGE_MS);
  }

  #nextForInbound(network: NetworkClass, nowMs: number): number {
    const next = this.#nextInbound.get(network) ?? 0;
    if (next > nowMs) return next;
    const drawn = nowMs + poissonDelay(INBOUND_MEAN_MS, this.#ctx.random);
    this.#nextInbound.set(network, drawn);
    return drawn;
  }

  #rebroadcastDelay(): number {
    return REBROADCAST_MS + this.#ctx.random(REBROADCAST_SPREAD_MS);
  }
}

/** Whether a peer had its first announcement. Earlier transactions are not announced: they would reveal when they arrived. */
function isReady(tx: TxRelayState | null): tx is TxRelayState {
  return tx !== null && tx.nextAnnouncementAt !== 0;
}

function queueFor({ queue }: TxRelayState, wtxid: Wtxid): void {
  queue.set(hashToHex(wtxid), wtxid);
  if (queue.size > MAX_QUEUE) queue.delete(queue.keys().next().value!);
}

/** Disconnects a peer for a request that is not permitted, unless it has the noban permission. */
function disconnectUnlessNoban(link: PeerLink, reason: string): void {
  if (!link.permissions.has('noban')) link.disconnect(reason);
}

type Found = Pick<ParsedTransaction, 'txid' | 'raw'>;

/** Returns the inventory item of a transaction: its wtxid (BIP-339), or its txid for older peers. */
function itemFor(peer: Peer, { txid, wtxid }: RelayFacts): InventoryItem {
  return peer.negotiated.wtxidRelay ? { kind: INVENTORY.wtx, hash: wtxid } : { kind: INVENTORY.tx, hash: txid };
}

function meetsFeeFilter({ feeFilter }: TxRelayState, { fee, vsize }: RelayFacts): boolean {
  return fee >= Math.ceil((feeFilter * vsize) / 1000);
}
