import { join } from 'node:path';
import { AuditLog } from '../auth/audit/audit-log.ts';
import { Authenticator } from '../auth/authenticator.ts';
import { ByteCache } from '../http/byte-cache.ts';
import type { DirectRoute } from '../http/direct-route.ts';
import { ApiError } from '../http/errors.ts';
import { type ApiReload, applyLiveOptions } from '../http/live-options.ts';
import type { ApiOptions, ListenAddress } from '../http/options.ts';
import { ReplyLedger } from '../http/reply-ledger.ts';
import { ReadService } from '../queries/read-service.ts';
import { isSyncedAt } from '../queries/synced.ts';
import { WalletReaders } from '../queries/wallet-readers.ts';
import { EventWaits } from '../rest/event-waits.ts';
import { NextBlocks } from '../rest/next-blocks.ts';
import type { IndexSwitches } from '../storage/index-store.ts';
import { hostClock, systemClock, unixSeconds } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import { type DisabledWebhook, Webhooks } from '../webhooks/webhooks.ts';
import type { Phase } from './admission.ts';
import type { ApiDependencies, Attachment, FrontStart } from './api-dependencies.ts';
import { ClientGate } from './client-gate.ts';
import type { ServerContext } from './context.ts';
import { EventFeed } from './event-feed.ts';
import { frontHandlers, ownerHandlers } from './fronts/front-handlers.ts';
import { type FrontSharing, metricsOfAll, readinessOfFirst, sharedAuthOf } from './fronts/front-sharing.ts';
import { type GaugeParts, serverGauges } from './ops/gauges.ts';
import { ApiMetrics } from './ops/metrics.ts';
import { Readiness } from './ops/readiness.ts';
import { startReader } from './start-reader.ts';

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
  readonly #feed: EventFeed;
  /** The indexes that are switched on. */
  readonly #indexes: IndexSwitches;
  readonly #queries: ReadService;
  readonly #wallets: WalletReaders;
  readonly #webhooks: Webhooks;
  readonly #readiness: Readiness;
  readonly #clientGate: ClientGate;
  readonly #sharing: FrontSharing | null;
  readonly #onStopping: (() => void) | undefined;
  readonly #onStopped: (() => void) | undefined;
  readonly #stopping = new AbortController();
  readonly #detach: (() => void)[];
  #phase: Phase = 'starting';
  #attachment: Attachment | null = null;
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

    this.#wallets = new WalletReaders(() => this.#attached().node.status().wallets ?? null);
    this.#feed = new EventFeed({
      ...{ options, params, clock, metrics, sharing },
      log: deps.log,
      auth: this.auth,
      wallets: this.#wallets,
      columns: deps.columns,
      stopping: this.#stopping.signal,
      runJob: (job) => this.#queries.runJob({ job, signal: this.#stopping.signal, long: false }),
      attached: () => this.#attached(),
      attachment: () => this.#attachment,
      isSynced: (tip) => isSyncedAt(this.context, tip),
    });
    const { mempool, events, watches, matcher, hub } = this.#feed;

    const replies = new ReplyLedger(limits.unsentReplies, memory?.counts);
    const call = (request: Request) => this.#clientGate.gate.call(request);
    this.#indexes = deps.sources.settings.indexes;
    this.#queries = new ReadService({
      options,
      sources: deps.sources,
      log,
      cache,
      replies,
      reads: () => this.#attached().reads,
      mempool,
      call,
      startReader,
      sharedPool: first?.pool ?? null,
    });
    this.#webhooks = new Webhooks({
      options: options.webhooks,
      userAgent: `Obverse-Webhook/${options.version}`,
      sources: { events, matcher, log: deps.log.category('webhooks') },
      watches,
      clock: host,
      isOwner: (id) => this.auth.isOwner(id),
      rightsOf: (id) => this.auth.rightsOf(id),
      onDisabled: (notice) => this.#onWebhookDisabled(notice),
      metrics,
    });
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
      events,
      watches,
      matcher,
      webhooks: first?.webhooks ?? this.#webhooks,
      mempool,
      tip: () => this.#feed.tip,
      call,
      sharedCounts: memory?.counts ?? null,
      audit,
      checkKey: (call, scope) => this.auth.followers.require(call.principal, call, scope),
      follow: ({ principal, ip }, scope) => this.auth.followers.follow(principal, ip, scope),
      keys: () => this.auth.keys,
      keysChanged: () => this.auth.keysChanged(),
      eventWaits: new EventWaits(memory?.counts),
      nextBlocks: new NextBlocks(() => this.#attached().node),
      useOf: ({ principal, ip }) => ({
        sockets: this.#feed.hub.countOf(principal, ip),
        storedWatches: this.#feed.watches.watchesOfCaller(principal).size,
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
        mempool: () => this.#feed.mempool.mirror.totals,
        sentSeq: () => this.#feed.hub.seq,
        auditWritable: () => this.#audit.writable,
        fronts: further,
        ...(memory && { onResult: (ready) => (memory.ready = ready) }),
        indexes: () => this.#indexes,
      },
      log,
      clock,
    );

    this.#clientGate = new ClientGate({
      ...{ options, log, clock, metrics, auth: this.auth, audit, hub, replies, memory },
      phase: () => this.#phase,
      tip: () => this.#feed.tip,
      syncing: () => this.#attachment?.node.status().initialBlockDownload === true,
    });
    const readiness = first && memory ? readinessOfFirst(first, memory, options.service) : this.#readiness;
    this.#clientGate.openRoutes(this.context, readiness, { plugins: deps.plugins ?? [], direct: directRoutes });
    this.#detach = [this.auth.onKeysChecked(() => this.#feed.hub.checkKeys())];
    deps.signal?.addEventListener('abort', () => void this.stop('aborted'), { once: true });
    const { auth } = this;
    const { visitors } = this.#clientGate;
    if (first) {
      // The first front reports the readiness of all.
      this.#readiness.stop();
      const stop = (reason: string) => this.stop(reason);
      const reload = (change: ApiReload) => this.#applyReload(change);
      first.serve(frontHandlers({ auth, watches, hub, metrics, visitors, reload, stop }));
      return;
    }

    const stores = { audit: this.#audit, watches, webhooks: this.#webhooks };
    const own = { ...stores, pool: this.#queries.pool, readiness: this.#readiness };
    further?.serve(ownerHandlers({ auth, metrics, further, shutDown: deps.shutDown ?? null, ...own }));
    deps.beforeListening?.();
    this.#clientGate.listen(this.#readiness, further);
    this.#detach.push(
      this.auth.onKeysChecked(() => this.#feed.watches.checkOwners()),
      this.auth.onKeysChecked(() => this.#webhooks.checkOwners()),
    );
  }

  /** Opens the keys, the audit log and the stored watches. Returns the file of a first key, if one was written. */
  openStores(): { initialKeyFile: string } | null {
    const isFirst = !this.#sharing?.first;
    const initialKey = isFirst ? this.auth.open() : this.auth.openFollowing();
    if (isFirst) this.#audit.open(join(this.#options.networkDir, 'auth.db'));
    this.#feed.watches.open(join(this.#options.networkDir, 'watches.db'));
    if (isFirst) this.#webhooks.open(join(this.#options.networkDir, 'webhooks.db'));
    return initialKey ?? null;
  }

  /** Serves all routes from now on. The stores must be open. */
  attach(attachment: Attachment): void {
    this.#attachment = attachment;
    this.#start = this.#feed.attach(attachment, (end) => this.#detach.push(end));
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
    await this.#feed.mempool.drained();
    this.#clientGate.listeners.openFurther(addresses);
  }

  /** Resolves when the mirror has applied all received updates. */
  updatesApplied(): Promise<void> {
    return this.#feed.mempool.drained();
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
    if (tls) this.#clientGate.listeners.replaceCertificate(tls);
  }

  /** Port of the first HTTP listener. */
  get port(): number {
    return this.#clientGate.listeners.addresses[0]!.port;
  }

  /** Addresses of the HTTP listeners, in the order of the options, with the ports that the system has chosen. */
  get addresses(): readonly ListenAddress[] {
    return this.#clientGate.listeners.addresses;
  }

  /** URL of the first HTTP listener. */
  get url(): string {
    return this.#clientGate.listeners.urls[0]!;
  }

  /** URLs of the HTTP listeners, in the order of the options. */
  get urls(): readonly string[] {
    return this.#clientGate.listeners.urls;
  }

  get opsUrl(): string | null {
    return this.#clientGate.listeners.opsUrl;
  }

  /** Stops accepting requests, closes the WebSockets and waits a bounded time for running requests. */
  stop(reason: string): Promise<void> {
    this.#stopped ??= this.#stop(reason);
    return this.#stopped;
  }

  /** Throws ApiError `warming_up` before the node is attached. */
  #attached(): Attachment {
    if (!this.#attachment) throw new ApiError('warming_up', 'the node is starting');
    return this.#attachment;
  }

  #onWebhookDisabled(notice: DisabledWebhook): void {
    this.#feed.hub.announce('webhookDisabled', notice.data, notice.owner);
    this.#sharing?.further?.announceDisabledWebhook(notice);
  }

  #gaugeParts(): GaugeParts {
    return {
      attachment: this.#attachment,
      context: this.context,
      hub: this.#feed.hub,
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
    this.#feed.stop();
    this.auth.stopWaiting();
    this.#clientGate.stopPacing();
    const webhooks = this.#webhooks.close();
    const further = this.#sharing?.further?.stop(reason, MAX_FRONT_STOP_MS);
    await this.#clientGate.listeners.drain(MAX_DRAIN_MS);
    // The other fronts need the reader workers and the audit log until their last reply.
    await further;
    await this.#clientGate.listeners.close();
    await this.#queries.close();
    this.#wallets.close();
    this.#readiness.stop();
    await webhooks;
    await this.#feed.watches.close();
    await this.#audit.close();
    this.auth.close();
    this.#onStopped?.();
  }
}
