import type { AuditTrail } from '../auth/audit/audit-log.ts';
import { Authenticator } from '../auth/authenticator.ts';
import type { DirectRoute } from '../http/direct-route.ts';
import { ApiError } from '../http/errors.ts';
import type { ApiOptions, ListenAddress } from '../http/options.ts';
import { ReplyLedger } from '../http/reply-ledger.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { hashToHex } from '../primitives/hash.ts';
import type { ReadSources } from '../queries/read-settings.ts';
import { isSyncedAt } from '../queries/synced.ts';
import { WalletReaders } from '../queries/wallet-readers.ts';
import { EventWaits } from '../rest/event-waits.ts';
import { NextBlocks } from '../rest/next-blocks.ts';
import type { Phase } from '../server/admission.ts';
import { ClientGate } from '../server/client-gate.ts';
import type { ServerContext } from '../server/context.ts';
import { EventFeed } from '../server/event-feed.ts';
import { ApiMetrics } from '../server/ops/metrics.ts';
import { hostClock, systemClock, unixSeconds } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import { ServerKeys } from './keys/server-keys.ts';
import { serveGauges } from './serve-gauges.ts';
import { ServeReadiness } from './serve-readiness.ts';
import { withoutNode } from './served-node.ts';
import { servedRoutes } from './served-routes.ts';
import { SinkReadService } from './sink-read-service.ts';
import { type ServedChain, SinkTail } from './sink-tail.ts';
import { type SubmitNode, SubmitNodes } from './submit-nodes.ts';
import { TailDatabase } from './tail-database.ts';
import { TipWait } from './tip-wait.ts';

export interface SinkServerOptions {
  /** URL of the database, which may hold a password. */
  readonly url: string;
  /** The network that the database must hold, as `chainNameOf` names it. */
  readonly network: string;
  readonly options: ApiOptions;
  readonly params: NetworkParams;
  readonly sources: ReadSources;
  readonly log: Log;
  /** The nodes that submitted transactions are passed to. */
  readonly nodes: readonly SubmitNode[];
}

const MAX_DRAIN_MS = 5000;

/**
 * An API server without a node: it answers from the database of a sink. Any number of them may have the same database. It
 * has no files and no threads of its own, so one that ends is replaced by another.
 */
export class SinkServer {
  readonly #log: Log;
  readonly #auth: Authenticator;
  readonly #keys: ServerKeys;
  readonly #feed: EventFeed;
  readonly #queries: SinkReadService;
  readonly #gate: ClientGate;
  readonly #tail: SinkTail;
  readonly #database: TailDatabase;
  readonly #stopping = new AbortController();
  readonly #detach: (() => void)[] = [];
  readonly #live = Promise.withResolvers<void>();
  #phase: Phase = 'starting';
  #chain: ServedChain | null = null;

  /** Opens the listeners. Throws OperatorError if an address or the static key cannot be used. */
  constructor({ url, network, options, params, sources, log: given, nodes }: SinkServerOptions) {
    const log = given.category('http');
    this.#log = log;
    const clock = systemClock;
    const startedAt = unixSeconds(hostClock);
    const { limits, service } = options;
    this.#database = new TailDatabase(url, service);
    this.#tail = new SinkTail({
      ...{ database: this.#database, network, log: given.category('events'), clock: hostClock },
      onLive: (chain, from) => this.#attach(chain, from),
      events: () => this.#feed.events,
      onTip: () => this.#queries.expireTip(),
      onMoved: () => wait.moved(),
    });
    const tail = this.#tail;
    const reached = () => {
      const { head, seq } = tail.status;
      return this.#chain && head && { height: head.height, logTag: head.logTag, seq };
    };
    const wait = new TipWait(reached, () => tail.nudge());
    const submits = new SubmitNodes({ nodes, log, clock: hostClock });
    const metrics: ApiMetrics = new ApiMetrics(
      { service, version: options.version, commit: options.commit, startedAt },
      serveGauges({
        startedAt,
        tail: () => tail.status,
        feed: () => this.#feed,
        auth: () => this.#auth,
        queries: () => this.#queries,
      }),
    );
    const { authFailuresPerMinute } = limits;
    this.#keys = new ServerKeys({
      url,
      name: service,
      log: log.category('auth'),
      clock: hostClock,
      authFailuresPerMinute,
    });
    this.#auth = new Authenticator(options, log.category('auth'), hostClock, metrics, this.#keys.shared);
    const auth = this.#auth;

    const wallets = new WalletReaders(() => null);
    const refuseWatches = () => Promise.reject(withoutNode('stored watches'));
    this.#feed = new EventFeed({
      ...{ options, params, clock, metrics, auth, wallets, log: given },
      ...{ columns: undefined, sharing: null, stopping: this.#stopping.signal },
      watchOwner: { addWatches: refuseWatches, removeWatches: refuseWatches, removeAll: refuseWatches },
      awaitEvent: (after) => wait.waitForEvent(after),
      runJob: (job) => this.#queries.runJob({ job, signal: this.#stopping.signal, long: false }),
      attached: () => this.#attached(),
      attachment: () => this.#chain && attachmentOf(this.#chain),
      isSynced: (tip) => isSyncedAt(context, tip),
    });
    const { mempool, events, watches, matcher, hub } = this.#feed;

    const replies = new ReplyLedger(limits.unsentReplies);
    const call = (request: Request) => this.#gate.gate.call(request);
    this.#queries = new SinkReadService({
      url,
      network,
      name: `obverse ${service} reads`.slice(0, 63),
      options,
      sources,
      replies,
      call,
    });
    const audit = loggedAudit(log);
    const direct: DirectRoute[] = [];
    const context: ServerContext = {
      ...{ options, params, log, metrics, replies, startedAt, wallets, events, watches, matcher, mempool, call, audit },
      reads: () => this.#attached().reads,
      node: () => this.#attached().node,
      queries: this.#queries,
      webhooks: unserved('webhooks'),
      tip: () => this.#feed.tip,
      sharedCounts: null,
      checkKey: (call, scope) => auth.followers.require(call.principal, call, scope),
      follow: ({ principal, ip }, scope) => auth.followers.follow(principal, ip, scope),
      keys: () => auth.keys,
      keysChanged: () => auth.keysChanged(),
      eventWaits: new EventWaits(),
      nextBlocks: new NextBlocks(() => this.#attached().node),
      useOf: ({ principal, ip }) => ({ sockets: hub.countOf(principal, ip), storedWatches: 0 }),
      issueTicket: () => Promise.reject(withoutNode('tickets')),
      sessions: auth.sessions,
      answerDirectly: (route) => void direct.push(route),
      rpcProbe: null,
      stopping: this.#stopping.signal,
      shutDown: null,
    };
    const readiness = new ServeReadiness({
      ...{ service, clock: hostClock, details: options.ready.details, maxTipAge: options.ready.maxTipAge },
      phase: () => this.#phase,
      tail: () => tail.status,
      keys: () => this.#keys.status,
    });
    this.#gate = new ClientGate({
      ...{ options, log, clock, metrics, auth, audit, hub, replies, memory: null },
      sharedBuckets: this.#keys.shared.buckets,
      awaitState: (request) => wait.waitFor(request),
      phase: () => this.#phase,
      tip: () => this.#feed.tip,
      syncing: () => false,
    });
    this.#gate.openRoutes(context, readiness, { plugins: [servedRoutes(submits)], hasNode: false, direct });
    this.#detach.push(auth.onKeysChecked(() => hub.checkKeys()));
    this.#keys.attach(auth);
    watches.openWithoutStore();
    this.#gate.listen(readiness, null);
  }

  /** Addresses of the HTTP listeners, in the order of the options, with the ports that the system has chosen. */
  get addresses(): readonly ListenAddress[] {
    return this.#gate.listeners.addresses;
  }

  get urls(): readonly string[] {
    return this.#gate.listeners.urls;
  }

  get opsUrl(): string | null {
    return this.#gate.listeners.opsUrl;
  }

  /** Resolves with the height of the tip when all routes are answered. */
  async live(): Promise<number> {
    await this.#live.promise;
    return this.#chain!.tip().height;
  }

  /**
   * Serves until the signal aborts, then stops as a node does. Throws OperatorError where the database cannot be served any
   * more.
   */
  async run(signal: AbortSignal): Promise<void> {
    const following = new AbortController();
    const keys = this.#keys.run(following.signal);
    try {
      await this.#tail.run(signal);
    } finally {
      await this.#stop();
      following.abort(new Error('the server stops'));
      await keys;
      this.#tail.close();
      this.#database.close();
    }
  }

  /** The events behind the number `from` are delivered. */
  #attach(chain: ServedChain, from: number): void {
    this.#chain = chain;
    const start = { tip: hashToHex(chain.tip().hash), seq: from };
    this.#feed.attach({ ...attachmentOf(chain), from: start }, (end) => this.#detach.push(end));
    this.#phase = 'live';
    this.#live.resolve();
  }

  /** Throws ApiError `warming_up` before the database can be served. */
  #attached() {
    if (!this.#chain) throw new ApiError('warming_up', 'the server is starting');
    return attachmentOf(this.#chain);
  }

  async #stop(): Promise<void> {
    this.#log.info('API stopping', { reason: 'the server stops' });
    this.#phase = 'stopping';
    for (const end of this.#detach) end();
    this.#stopping.abort();
    this.#feed.stop();
    this.#auth.stopWaiting();
    this.#gate.stopPacing();
    await this.#gate.listeners.drain(MAX_DRAIN_MS);
    await this.#gate.listeners.close();
    await this.#queries.close();
    await this.#feed.watches.close();
    this.#auth.close();
  }
}

function attachmentOf(chain: ServedChain) {
  return { node: chain.node, reads: chain };
}

/** A server has no audit log: the requests of administrators, all of which it refuses, are lines of its log. */
function loggedAudit(log: Log): AuditTrail {
  const refuse = () => Promise.reject(withoutNode('the audit log'));
  return {
    begin: refuse,
    page: refuse,
    complete: () => {},
    record: ({ who, method, requestId }, { outcome }) => log.info('admin request', { who, method, requestId, outcome }),
    recordRefused: () => {},
  };
}

/** Stands for a part of a node that no route of a server uses. Throws ApiError `feature_disabled` where one does. */
function unserved<T extends object>(feature: string): T {
  return new Proxy({} as T, {
    get() {
      throw withoutNode(feature);
    },
  });
}
