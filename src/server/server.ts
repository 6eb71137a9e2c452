import { join } from 'node:path';
import { AuditLog } from '../auth/audit/audit-log.ts';
import { Authenticator } from '../auth/authenticator.ts';
import { ClientAddresses } from '../auth/client-address.ts';
import { EventLog } from '../feed/event-log.ts';
import { Matcher } from '../feed/matcher.ts';
import { MempoolFeed, type SeenChange } from '../feed/mempool-feed.ts';
import { StoredWatches } from '../feed/stored-watches.ts';
import { WatchRegistry } from '../feed/watches.ts';
import { ByteCache } from '../http/byte-cache.ts';
import type { DirectRoute } from '../http/direct-route.ts';
import { ApiError } from '../http/errors.ts';
import { type ApiReload, applyLiveOptions } from '../http/live-options.ts';
import type { ApiOptions, ListenAddress } from '../http/options.ts';
import { ReplyLedger } from '../http/reply-ledger.ts';
import type { EntryColumns } from '../mempool/entry-columns.ts';
import type { NetworkParams } from '../params/network-params.ts';
import type { NodePort, NodeUpdate } from '../port/node-port.ts';
import { hashFromHex } from '../primitives/hash.ts';
import { ReadService } from '../queries/read-service.ts';
import type { ReadSources } from '../queries/read-settings.ts';
import { isSyncedAt } from '../queries/synced.ts';
import { readTipView, type TipView } from '../queries/tip-view.ts';
import { WalletReaders } from '../queries/wallet-readers.ts';
import { EventWaits } from '../rest/event-waits.ts';
import { NextBlocks } from '../rest/next-blocks.ts';
import type { ChainReads } from '../storage/chain-reads.ts';
import type { IndexSwitches } from '../storage/index-store.ts';
import { type Clock, hostClock, systemClock, unixSeconds } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import { type DisabledWebhook, Webhooks } from '../webhooks/webhooks.ts';
import { Hub, type SyncStatus } from '../ws/hub.ts';
import { peerEvent } from '../ws/peer-event.ts';
import { upgradeToWebSocket } from '../ws/upgrade.ts';
import type { Phase } from './admission.ts';
import { composeApp, type RoutePlugin } from './app.ts';
import { Visitors } from './connections/visitors.ts';
import type { ServerContext } from './context.ts';
import { FeeAnnouncer } from './fee-announcer.ts';
import { frontHandlers, ownerHandlers } from './fronts/front-handlers.ts';
import { type FrontSharing, metricsOfAll, readinessOfFirst, sharedAuthOf } from './fronts/front-sharing.ts';
import { Gate, type GateDependencies } from './gate.ts';
import { HostPolicy } from './hosts.ts';
import { Listeners } from './listeners.ts';
import { type GaugeParts, serverGauges } from './ops/gauges.ts';
import { ApiMetrics } from './ops/metrics.ts';
import { Readiness } from './ops/readiness.ts';
import type { GaugeSources } from './ops/state-gauges.ts';
import { ParallelRequests } from './parallel-requests.ts';
import { ProjectionAnnouncer } from './projection-announcer.ts';
import { RefusalPace } from './refusal-pace.ts';
import { startReader } from './start-reader.ts';

export interface ApiDependencies {
  readonly options: ApiOptions;
  readonly params: NetworkParams;
  readonly log: Log;
  /** Stops the server when aborted. */
  readonly signal?: AbortSignal;
  /** Unix seconds. */
  readonly startedAt: number;
  /** State of the other threads, for metrics. */
  readonly threads?: GaugeSources['threads'];
  readonly clock?: Clock;
  /** Settings that replies depend on. */
  readonly sources: ReadSources;
  /** Called at the beginning of the stop, while requests are still running. */
  readonly onStopping?: () => void;
  /** Called at the end of the stop. */
  readonly onStopped?: () => void;
  /** The columns of the mempool, if they are known before the first update. */
  readonly columns?: EntryColumns;
  /** Called when everything is loaded, before the listener opens. */
  readonly beforeListening?: () => void;
  /** The parts that this front shares with others; absent with one front. */
  readonly sharing?: FrontSharing;
  /** Called when an operator asks the program to stop. */
  readonly shutDown?: () => void;
  /** Routes beside those of operations. */
  readonly plugins?: readonly RoutePlugin[];
}

/** The state of the node from which on a front has received all updates. */
export interface FrontStart {
  /** Number of the newest event then. */
  readonly seq: number;
  /** Hash of the tip then, display order. */
  readonly tip: string;
}

interface Attachment {
  readonly node: NodePort;
  readonly reads: ChainReads;
  /** The start of the first front; absent on that front itself. */
  readonly from?: FrontStart;
}

const LONG_BODIES_PER_KEY = 4;
const MAX_DRAIN_MS = 5000;
/** Time limit of the stop of a further front, which includes the end of its requests, milliseconds. */
const MAX_FRONT_STOP_MS = MAX_DRAIN_MS + 2000;

/** Opens the HTTP listener; see ApiServer. */
export function startApi(deps: ApiDependencies): ApiServer {
  return new ApiServer(deps);
}

/** The HTTP server with everything behind it, built in the order of the dependencies. */
export class ApiServer {
  readonly context: ServerContext;
  readonly auth: Authenticator;
  readonly #options: ApiOptions;
  readonly #log: Log;
  readonly #metrics: ApiMetrics;
  readonly #audit: AuditLog;
  readonly #mempool: MempoolFeed;
  readonly #events: EventLog;
  /** The indexes that are switched on. */
  readonly #indexes: IndexSwitches;
  readonly #queries: ReadService;
  readonly #wallets: WalletReaders;
  readonly #watches: StoredWatches;
  readonly #webhooks: Webhooks;
  readonly #hub: Hub;
  readonly #fees: FeeAnnouncer;
  readonly #projection: ProjectionAnnouncer;
  readonly #readiness: Readiness;
  readonly #refusals: RefusalPace;
  readonly #gate: Gate;
  readonly #sharing: FrontSharing | null;
  readonly #onStopping: (() => void) | undefined;
  readonly #onStopped: (() => void) | undefined;
  readonly #listeners: Listeners;
  readonly #stopping = new AbortController();
  readonly #detach: (() => void)[];
  #phase: Phase = 'starting';
  #attachment: Attachment | null = null;
  #tip: TipView | null = null;
  #start: FrontStart | null = null;
  #stopped: Promise<void> | null = null;

  /**
   * Opens the HTTP listener. Only liveness, health and readiness are answered until `attach`. Throws OperatorError on
   * unusable credentials in the options, and the error of Bun if the address is in use.
   */
  constructor(deps: ApiDependencies) {
    const { options, params, startedAt, clock = systemClock, sharing = null } = deps;
    const { first = null, further = null, memory = null } = sharing ?? {};
    this.#sharing = sharing;
    this.#onStopping = deps.onStopping;
    this.#onStopped = deps.onStopped;
    // Credentials follow the host clock, never the mock time of a test network.
    const host = deps.clock ?? hostClock;
    const { limits } = options;
    this.#options = options;
    const log = deps.log.category('http');
    const eventLog = deps.log.category('events');
    this.#log = log;
    const cache = options.cache.enabled ? new ByteCache(options.cache.maxBytes) : null;
    this.#metrics = new ApiMetrics(
      {
        service: options.service,
        version: options.version,
        commit: options.commit,
        startedAt: unixSeconds(host),
        ...(sharing && { ofAllFronts: (own) => metricsOfAll(sharing, own) }),
      },
      {
        ...serverGauges(options, () => this.#gaugeParts()),
        // The first front shows what the node thread counts: the counters of all fronts are added up.
        ...(sharing?.first && { counters: () => null, sink: () => null }),
        cacheReady: () => cache !== null,
        threads: deps.threads ?? (() => []),
        uptimeSeconds: () => Math.max(0, unixSeconds(host) - startedAt),
      },
    );
    const metrics = this.#metrics;

    this.auth = new Authenticator(options, log.category('auth'), host, metrics, sharing && sharedAuthOf(sharing));
    this.#audit = new AuditLog({ keep: options.audit.keep, log: log.category('auth'), metrics });
    const audit = first?.audit ?? this.#audit;

    this.#mempool = new MempoolFeed({
      clock,
      ...(deps.columns && { columns: deps.columns }),
      onChanges: (changes) => this.#onMempoolChanges(changes),
      onCommit: (commit) => this.#onCommit(commit),
      onApplied: (bytes, updates) => this.#attached().node.acknowledge(bytes, updates),
    });
    this.#events = new EventLog({
      clock,
      limits: limits.eventLog,
      unconfirmed: () => this.#mempool.mirror.sources(),
      unconfirmedAt: (slot, seq) => this.#mempool.mirror.announcedAt(slot, seq),
      // The first front counts the events for all.
      onChainEvent: (type, data) => first === null && metrics.event(type, data),
      onError: (error) => eventLog.error('the event log cannot be read', { error }),
    });

    const replies = new ReplyLedger(limits.unsentReplies, memory?.counts);
    const call = (request: Request) => this.#gate.call(request);
    this.#indexes = deps.sources.settings.indexes;
    this.#queries = new ReadService({
      options,
      sources: deps.sources,
      log,
      cache,
      replies,
      reads: () => this.#attached().reads,
      mempool: this.#mempool,
      call,
      startReader,
      sharedPool: first?.pool ?? null,
    });
    this.#wallets = new WalletReaders(() => this.#attached().node.status().wallets ?? null);

    const registry = new WatchRegistry();
    this.#watches = new StoredWatches({
      registry,
      params,
      limits,
      log: eventLog,
      clock,
      isOwner: (id) => this.auth.isOwner(id),
      ...(first && { owner: first.watches }),
      ...(further && { announce: (owner, written) => further.announceWatches(owner, written) }),
    });
    const matcher = new Matcher({
      registry,
      runJob: (job) => this.#queries.runJob({ job, signal: this.#stopping.signal, long: false }),
      wallets: {
        states: () => this.#wallets.states ?? [],
        knows: ({ name }, txid) => this.#wallets.get(name)?.reads.txs.byTxid(hashFromHex(txid)) != null,
        stopping: this.#stopping.signal,
      },
    });
    this.#hub = new Hub({
      options,
      params,
      log: eventLog,
      clock,
      metrics,
      events: this.#events,
      registry,
      matcher,
      watches: this.#watches,
      status: () => this.#tip && { ...this.#tip, synced: isSyncedAt(this.context, this.#tip) },
      syncStatus: () => this.#syncStatus(),
      standing: (principal, ip) => this.auth.standing(principal, ip),
      sharedCounts: memory?.counts ?? null,
    });
    this.#webhooks = new Webhooks({
      options: options.webhooks,
      userAgent: `Obverse-Webhook/${options.version}`,
      sources: { events: this.#events, matcher, log: deps.log.category('webhooks') },
      watches: this.#watches,
      clock: host,
      isOwner: (id) => this.auth.isOwner(id),
      rightsOf: (id) => this.auth.rightsOf(id),
      onDisabled: (notice) => this.#onWebhookDisabled(notice),
      metrics,
    });
    this.#fees = new FeeAnnouncer(this.#hub, clock);
    const projected = { blocks: () => this.#attachment?.node.call('projectedBlocks') ?? null, tip: () => this.#tip };
    this.#projection = new ProjectionAnnouncer(this.#hub, projected, { clock, log });

    const directRoutes: DirectRoute[] = [];
    this.context = {
      options,
      params,
      log,
      metrics,
      replies,
      startedAt,
      reads: () => this.#attached().reads,
      node: () => this.#attached().node,
      queries: this.#queries,
      wallets: this.#wallets,
      events: this.#events,
      watches: this.#watches,
      matcher,
      webhooks: first?.webhooks ?? this.#webhooks,
      mempool: this.#mempool,
      tip: () => this.#tip,
      call,
      sharedCounts: memory?.counts ?? null,
      audit,
      checkKey: ({ principal, ip }, scope) => this.auth.followers.require(principal, ip, scope),
      follow: ({ principal, ip }, scope) => this.auth.followers.follow(principal, ip, scope),
      keys: () => this.auth.keys,
      keysChanged: () => this.auth.keysChanged(),
      eventWaits: new EventWaits(memory?.counts),
      nextBlocks: new NextBlocks(() => this.#attached().node),
      useOf: ({ principal, ip }) => ({
        sockets: this.#hub.countOf(principal, ip),
        storedWatches: this.#watches.watchesOfCaller(principal).size,
      }),
      issueTicket: (principal) => this.auth.tickets.issueTicket(principal),
      sessions: this.auth.sessions,
      answerDirectly: (route) => void directRoutes.push(route),
      rpcProbe: null,
      stopping: this.#stopping.signal,
      shutDown: first ? () => first.shutDown() : (deps.shutDown ?? null),
    };
    this.#readiness = new Readiness(
      options,
      {
        phase: () => this.#phase,
        attached: () => this.#attachment,
        rpcProbe: () => this.context.rpcProbe,
        mempool: () => this.#mempool.mirror.totals,
        sentSeq: () => this.#hub.seq,
        auditWritable: () => this.#audit.writable,
        fronts: further,
        ...(memory && { onResult: (ready) => (memory.ready = ready) }),
        indexes: () => this.#indexes,
      },
      log,
      clock,
    );

    const visitors = new Visitors();
    const clients = new ClientAddresses(options.http);
    this.#refusals = new RefusalPace(clock);
    const gateDeps: GateDependencies = {
      options,
      log,
      clock,
      metrics,
      auth: this.auth,
      sharedBuckets: memory?.buckets ?? null,
      audit,
      clients,
      hosts: new HostPolicy({ ...options.http, bindHosts: options.http.listen.map(({ host }) => host) }),
      visitors,
      replies,
      parallel: new ParallelRequests(() => limits.parallelPerKey, 'requests', memory?.counts),
      longBodies: new ParallelRequests(() => LONG_BODIES_PER_KEY, 'requests with long bodies', memory?.counts),
      refusals: this.#refusals,
      phase: () => this.#phase,
      tip: () => this.#tip,
      syncing: () => this.#attachment?.node.status().initialBlockDownload === true,
      upgrade: (request, server, of) =>
        upgradeToWebSocket(request, server, of, { options, auth: this.auth, hub: this.#hub }),
    };
    this.#gate = new Gate(gateDeps);
    const readiness = first && memory ? readinessOfFirst(first, memory, options.service) : this.#readiness;
    const app = composeApp(this.context, readiness, { gate: this.#gate, plugins: deps.plugins ?? [] });
    this.#gate.open(app, directRoutes);
    rehearse(this.#gate);
    this.#detach = [this.auth.onKeysChecked(() => this.#hub.checkKeys())];
    deps.signal?.addEventListener('abort', () => void this.stop('aborted'), { once: true });
    this.#listeners = new Listeners(options, this.#gate, this.#hub);
    const { auth } = this;
    if (first) {
      // The first front reports the readiness of all.
      this.#readiness.stop();
      const stop = (reason: string) => this.stop(reason);
      const reload = (change: ApiReload) => this.#applyReload(change);
      first.serve(frontHandlers({ auth, watches: this.#watches, hub: this.#hub, metrics, visitors, reload, stop }));
      return;
    }

    const stores = { audit: this.#audit, watches: this.#watches, webhooks: this.#webhooks };
    const own = { ...stores, pool: this.#queries.pool, readiness: this.#readiness };
    further?.serve(ownerHandlers({ auth, metrics, further, shutDown: deps.shutDown ?? null, ...own }));
    deps.beforeListening?.();
    this.#listeners.openFirst({ metrics, readiness: this.#readiness, visitors, clients, further, log });
    this.#detach.push(
      this.auth.onKeysChecked(() => this.#watches.checkOwners()),
      this.auth.onKeysChecked(() => this.#webhooks.checkOwners()),
    );
  }

  /** Opens the keys, the audit log and the stored watches. Returns the file of a first key, if one was written. */
  openStores(): { initialKeyFile: string } | null {
    const isFirst = !this.#sharing?.first;
    const initialKey = isFirst ? this.auth.open() : this.auth.openFollowing();
    if (isFirst) this.#audit.open(join(this.#options.networkDir, 'auth.db'));
    this.#watches.open(join(this.#options.networkDir, 'watches.db'));
    if (isFirst) this.#webhooks.open(join(this.#options.networkDir, 'webhooks.db'));
    return initialKey ?? null;
  }

  /** Serves all routes from now on. The stores must be open. */
  attach(attachment: Attachment): void {
    const { node, reads, from } = attachment;
    this.#attachment = attachment;
    this.#tip = readTipView(reads);
    const start = { tip: from?.tip ?? this.#tip.hash, seq: this.#hub.attach(reads, from?.seq) };
    this.#start = start;
    this.#mempool.startAt(start.tip);
    this.#detach.push(
      node.onUpdate((update) => this.#onNodeUpdate(update)),
      node.onPeerChange((change) => this.#hub.announce(...peerEvent(change))),
    );
    this.#phase = 'live';
    if (this.#sharing?.first) return;
    this.#webhooks.attach();
    // The first result takes milliseconds, so requests that wait are answered before.
    setImmediate(() => {
      if (!this.#stopping.signal.aborted) void this.#readiness.run();
    });
  }

  /** The state from which on this front has received all updates; it must be attached. */
  get start(): FrontStart {
    return this.#start!;
  }

  /** Opens the listeners of a further front on the ports of the first one, once the mirror has applied all updates. */
  async openFurther(addresses: readonly ListenAddress[]): Promise<void> {
    await this.#mempool.drained();
    this.#listeners.openFurther(addresses);
  }

  /** Resolves when the mirror has applied all received updates. */
  updatesApplied(): Promise<void> {
    return this.#mempool.drained();
  }

  /**
   * Applies changed options on all fronts. Connections that are open keep their certificate. Returns false if a front has
   * not applied them in time. Throws the error of Bun if the certificate cannot be used.
   */
  async reload(change: ApiReload): Promise<boolean> {
    this.#applyReload(change);
    return (await this.#sharing?.further?.announceReload(change)) ?? true;
  }

  #applyReload({ live, tls }: ApiReload): void {
    applyLiveOptions(this.#options, live);
    if (tls) this.#listeners.replaceCertificate(tls);
  }

  /** Port of the first HTTP listener. */
  get port(): number {
    return this.#listeners.addresses[0]!.port;
  }

  /** Addresses of the HTTP listeners, in the order of the options, with the ports that the system has chosen. */
  get addresses(): readonly ListenAddress[] {
    return this.#listeners.addresses;
  }

  /** URL of the first HTTP listener. */
  get url(): string {
    return this.#listeners.urls[0]!;
  }

  /** URLs of the HTTP listeners, in the order of the options. */
  get urls(): readonly string[] {
    return this.#listeners.urls;
  }

  get opsUrl(): string | null {
    return this.#listeners.opsUrl;
  }

  /** Stops accepting requests, closes the WebSockets and waits a bounded time for running requests. */
  stop(reason: string): Promise<void> {
    this.#stopped ??= this.#stop(reason);
    return this.#stopped;
  }

  /** The mempool mirror is the first to apply an update, in slices. */
  #onNodeUpdate(update: NodeUpdate): void {
    this.#mempool.enqueue(update);
  }

  /** The mirror contains these changes now. */
  #onMempoolChanges(changes: readonly SeenChange[]): void {
    for (const change of changes)
      if (change.kind === 'added') this.#countChange('added', '');
      else if (change.kind === 'removed') this.#countChange('removed', change.reason);
      else if (change.kind === 'fees' && this.#tip) this.#fees.announceFees(change.report, this.#tip);
    this.#hub.mempoolChanged(changes);
  }

  /** The first front counts the changes for all. */
  #countChange(kind: 'added' | 'removed', reason: string): void {
    if (!this.#sharing?.first) this.#metrics.mempoolChange(kind, reason);
  }

  /** The mirror has applied everything before this commit, and readers see the commit. */
  #onCommit({ lastSeq }: NonNullable<NodeUpdate['commit']>): void {
    this.#tip = readTipView(this.#attached().reads);
    this.#hub.committed(lastSeq);
  }

  /** Throws ApiError `warming_up` before the node is attached. */
  #attached(): Attachment {
    if (!this.#attachment) throw new ApiError('warming_up', 'the node is starting');
    return this.#attachment;
  }

  #onWebhookDisabled(notice: DisabledWebhook): void {
    this.#hub.announce('webhookDisabled', notice.data, notice.owner);
    this.#sharing?.further?.announceDisabledWebhook(notice);
  }

  /** Returns the data of `syncStatus`; null before the node is attached. */
  #syncStatus(): SyncStatus | null {
    if (!this.#attachment || !this.#tip) return null;
    const { headers, sync, verificationProgress } = this.#attachment.node.status();
    const state = isSyncedAt(this.context, this.#tip) ? 'synced' : 'syncing';
    const { phase, presynced } = sync;
    return { state, height: this.#tip.height, headers, progress: verificationProgress, phase, presynced };
  }

  #gaugeParts(): GaugeParts {
    return {
      attachment: this.#attachment,
      context: this.context,
      hub: this.#hub,
      audit: this.#audit,
      auth: this.auth,
      indexes: this.#indexes,
      webhooks: this.#webhooks,
    };
  }

  async #stop(reason: string): Promise<void> {
    this.#log.info('API stopping', { reason });
    this.#phase = 'stopping';
    this.#onStopping?.();
    for (const end of this.#detach) end();
    this.#stopping.abort();
    this.#hub.stop();
    this.#projection.stop();
    this.auth.stopWaiting();
    this.#refusals.stop();
    const webhooks = this.#webhooks.close();
    const further = this.#sharing?.further?.stop(reason, MAX_FRONT_STOP_MS);
    await this.#listeners.drain(MAX_DRAIN_MS);
    // The other fronts need the reader workers and the audit log until their last reply.
    await further;
    await this.#listeners.close();
    await this.#queries.close();
    this.#wallets.close();
    this.#readiness.stop();
    await webhooks;
    await this.#watches.close();
    await this.#audit.close();
    this.auth.close();
    this.#onStopped?.();
  }
}

/** Answers a request of the server's own, so that the first request of a client finds compiled code. */
function rehearse(gate: Gate): void {
  void gate.handle(new Request('http://localhost/healthz'), { requestIP: () => null, upgrade: () => false }, true);
}
