import type { Authenticator } from '../auth/authenticator.ts';
import { EventLog } from '../feed/event-log.ts';
import { type MatchedChain, Matcher } from '../feed/matcher.ts';
import { MempoolFeed, type SeenChange } from '../feed/mempool-feed.ts';
import { StoredWatches, type WatchOwner } from '../feed/stored-watches.ts';
import { WatchRegistry } from '../feed/watches.ts';
import type { ApiOptions } from '../http/options.ts';
import type { EntryColumns } from '../mempool/entry-columns.ts';
import type { NetworkParams } from '../params/network-params.ts';
import type { NodePort, NodeUpdate } from '../port/node-port.ts';
import { hashFromHex } from '../primitives/hash.ts';
import type { JobResult, ReaderJob } from '../queries/reader-jobs.ts';
import { readTipView, type TipSource, type TipView } from '../queries/tip-view.ts';
import type { WalletReaders } from '../queries/wallet-readers.ts';
import type { Clock } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import { Hub, type SyncStatus } from '../ws/hub.ts';
import { peerEvent } from '../ws/peer-event.ts';
import type { FrontStart } from './api-dependencies.ts';
import { FeeAnnouncer } from './fee-announcer.ts';
import type { FrontSharing } from './fronts/front-sharing.ts';
import type { ApiMetrics } from './ops/metrics.ts';
import { ProjectionAnnouncer } from './projection-announcer.ts';

/** The node that a feed follows, and the events and the tip that it has committed. */
export interface FeedAttachment {
  readonly node: NodePort;
  readonly reads: MatchedChain & TipSource;
  /** The start of the first front; absent on that front itself. */
  readonly from?: FrontStart;
}

export interface EventFeedOptions {
  readonly options: ApiOptions;
  readonly params: NetworkParams;
  readonly log: Log;
  readonly clock: Clock;
  readonly metrics: ApiMetrics;
  readonly auth: Pick<Authenticator, 'isOwner' | 'standing'>;
  readonly wallets: Pick<WalletReaders, 'states' | 'get'>;
  /** The columns of the mempool, if they are known before the first update. */
  readonly columns: EntryColumns | undefined;
  /** The parts that this front shares with others; null with one front. */
  readonly sharing: FrontSharing | null;
  /** Stores watches in place of this server; absent where it has them itself. */
  readonly watchOwner?: WatchOwner;
  /** Aborts when the server stops. */
  readonly stopping: AbortSignal;
  /** Waits for an event that another server has sent; absent where there is none. */
  awaitEvent?(after: unknown): Promise<void> | null;
  /** Runs a job on a reader worker. */
  runJob(job: ReaderJob): Promise<JobResult>;
  /** Throws ApiError `warming_up` before the node is attached. */
  attached(): FeedAttachment;
  /** Null before the node is attached. */
  attachment(): FeedAttachment | null;
  /** Whether a tip means that the node is synced. */
  isSynced(tip: TipView): boolean;
}

/** The way of an event from an update of the node to the clients, and the tip that the updates have reached. */
export class EventFeed {
  readonly mempool: MempoolFeed;
  readonly events: EventLog;
  readonly watches: StoredWatches;
  readonly matcher: Matcher;
  readonly hub: Hub;
  readonly #options: EventFeedOptions;
  readonly #fees: FeeAnnouncer;
  readonly #projection: ProjectionAnnouncer;
  #tip: TipView | null = null;

  constructor(deps: EventFeedOptions) {
    this.#options = deps;
    const { options, params, clock, metrics, auth, wallets, sharing } = deps;
    const { first = null, further = null, memory = null } = sharing ?? {};
    const { limits } = options;
    const log = deps.log.category('events');
    this.mempool = new MempoolFeed({
      clock,
      ...(deps.columns && { columns: deps.columns }),
      onChanges: (changes) => this.#onMempoolChanges(changes),
      onCommit: (commit) => this.#onCommit(commit),
      onApplied: (bytes, updates) => deps.attached().node.acknowledge(bytes, updates),
    });
    this.events = new EventLog({
      clock,
      limits: limits.eventLog,
      unconfirmed: () => this.mempool.mirror.sources(),
      unconfirmedAt: (slot, seq) => this.mempool.mirror.announcedAt(slot, seq),
      // The first front counts the events for all.
      onChainEvent: (type, data) => first === null && metrics.event(type, data),
      onError: (error) => log.error('the event log cannot be read', { error }),
    });
    const registry = new WatchRegistry();
    this.watches = new StoredWatches({
      registry,
      params,
      limits,
      log,
      clock,
      isOwner: (id) => auth.isOwner(id),
      ...(deps.watchOwner && { owner: deps.watchOwner }),
      ...(first && { owner: first.watches }),
      ...(further && { announce: (owner, written) => further.announceWatches(owner, written) }),
    });
    this.matcher = new Matcher({
      registry,
      runJob: (job) => deps.runJob(job),
      wallets: {
        states: () => wallets.states ?? [],
        knows: ({ name }, txid) => wallets.get(name)?.reads.txs.byTxid(hashFromHex(txid)) != null,
        stopping: deps.stopping,
      },
    });
    this.hub = new Hub({
      options,
      params,
      log,
      clock,
      metrics,
      events: this.events,
      registry,
      matcher: this.matcher,
      watches: this.watches,
      status: () => this.#tip && { ...this.#tip, synced: deps.isSynced(this.#tip) },
      syncStatus: () => this.#syncStatus(),
      standing: (principal, client) => auth.standing(principal, client),
      sharedCounts: memory?.counts ?? null,
      ...(deps.awaitEvent && { awaitEvent: deps.awaitEvent }),
    });
    this.#fees = new FeeAnnouncer(this.hub, clock);
    const projected = {
      blocks: () => deps.attachment()?.node.call('projectedBlocks') ?? null,
      tip: () => this.#tip,
    };
    this.#projection = new ProjectionAnnouncer(this.hub, projected, { clock, log: deps.log.category('http') });
  }

  /** The tip of the last commit that the updates have reached; null before the node is attached. */
  get tip(): TipView | null {
    return this.#tip;
  }

  /** Follows the node from now on. Returns the state from which on it has received all updates. */
  attach({ node, reads, from }: FeedAttachment, onEnd: (end: () => void) => void): FrontStart {
    this.#tip = readTipView(reads);
    const start = { tip: from?.tip ?? this.#tip.hash, seq: this.hub.attach(reads, from?.seq) };
    this.mempool.startAt(start.tip);
    // The mempool mirror is the first to apply an update, in slices.
    onEnd(node.onUpdate((update) => this.mempool.enqueue(update)));
    onEnd(node.onPeerChange((change) => this.hub.announce(...peerEvent(change))));
    return start;
  }

  stop(): void {
    this.hub.stop();
    this.#projection.stop();
  }

  /** The mirror contains these changes now. */
  #onMempoolChanges(changes: readonly SeenChange[]): void {
    for (const change of changes)
      if (change.kind === 'added') this.#countChange('added', '');
      else if (change.kind === 'removed') this.#countChange('removed', change.reason);
      else if (change.kind === 'fees' && this.#tip) this.#fees.announceFees(change.report, this.#tip);
    this.hub.mempoolChanged(changes);
  }

  /** The first front counts the changes for all. */
  #countChange(kind: 'added' | 'removed', reason: string): void {
    if (!this.#options.sharing?.first) this.#options.metrics.mempoolChange(kind, reason);
  }

  /** The mirror has applied everything before this commit, and readers see the commit. */
  #onCommit({ lastSeq }: NonNullable<NodeUpdate['commit']>): void {
    this.#tip = readTipView(this.#options.attached().reads);
    this.hub.committed(lastSeq);
  }

  /** Returns the data of `syncStatus`; null before the node is attached. */
  #syncStatus(): SyncStatus | null {
    const attachment = this.#options.attachment();
    if (!attachment || !this.#tip) return null;
    const { headers, sync, verificationProgress } = attachment.node.status();
    const state = this.#options.isSynced(this.#tip) ? 'synced' : 'syncing';
    const { phase, presynced } = sync;
    return { state, height: this.#tip.height, headers, progress: verificationProgress, phase, presynced };
  }
}
