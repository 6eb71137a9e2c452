import { join } from 'node:path';
import type { Server } from 'bun';
import { AuditLog } from '../auth/audit/audit-log.ts';
import { Authenticator } from '../auth/authenticator.ts';
import { ClientAddresses } from '../auth/client-address.ts';
import { difficultyOf } from '../consensus/work.ts';
import { EventLog } from '../feed/event-log.ts';
import { Matcher } from '../feed/matcher.ts';
import { MempoolFeed } from '../feed/mempool-feed.ts';
import { StoredWatches } from '../feed/stored-watches.ts';
import { WatchRegistry } from '../feed/watches.ts';
import { ByteCache } from '../http/byte-cache.ts';
import { ApiError } from '../http/errors.ts';
import type { ApiOptions, ListenAddress } from '../http/options.ts';
import { ReplyLedger } from '../http/reply-ledger.ts';
import type { FeeReport } from '../mempool/fees/fee-estimator.ts';
import type { NetworkParams } from '../params/network-params.ts';
import type { NodePort, NodeStatus } from '../port/node-port.ts';
import { hashFromHex, hashToHex } from '../primitives/hash.ts';
import { headerFromBytes } from '../primitives/header.ts';
import { ReadService } from '../queries/read-service.ts';
import { type ReadSources, readSources } from '../queries/read-settings.ts';
import { isSyncedAt } from '../queries/synced.ts';
import type { TipView } from '../queries/tip-view.ts';
import { WalletReaders } from '../queries/wallet-readers.ts';
import type { ChainReads } from '../storage/chain-reads.ts';
import { type Clock, hostClock, systemClock, unixSeconds } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import { feesView } from '../views/rest/fees-view.ts';
import type { SocketData } from '../ws/connection.ts';
import { Hub, type SyncStatus } from '../ws/hub.ts';
import { peerEvent } from '../ws/peer-event.ts';
import { upgradeToWebSocket } from '../ws/upgrade.ts';
import { composeApp, type RoutePlugin } from './app.ts';
import { startGuard } from './connections/connection-guard.ts';
import { Visitors } from './connections/visitors.ts';
import type { ServerContext } from './context.ts';
import { Gate, type GateDependencies, type Phase } from './gate.ts';
import { HostPolicy } from './hosts.ts';
import { startOpsListener } from './ops/listener.ts';
import { ApiMetrics, type GaugeSources } from './ops/metrics.ts';
import { fileSize, Readiness } from './ops/readiness.ts';
import { collectWalletBalances } from './ops/wallet-balances.ts';
import { ParallelRequests } from './parallel-requests.ts';
import { RefusalPace } from './refusal-pace.ts';
import { RouteTable } from './route-table.ts';
import { startReader } from './start-reader.ts';

const MAX_BODY = 32 * 1024 ** 2;
const SOCKET_IDLE_SECONDS = 120;
const LONG_BODIES_PER_KEY = 4;
/** For TLS 1.2, which has weaker ones: only with forward secrecy and authenticated encryption, as all of TLS 1.3. */
const TLS_CIPHERS = ['ECDSA', 'RSA']
  .flatMap((key) => ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305'].map((c) => `ECDHE-${key}-${c}`))
  .join(':');
const MAX_DRAIN_MS = 5000;

export interface ApiDependencies {
  readonly options: ApiOptions;
  readonly params: NetworkParams;
  readonly log: Log;
  /** Stops the server when aborted. */
  readonly signal?: AbortSignal;
  /** Unix seconds. */
  readonly startedAt: number;
  /** What is known of the other threads, for metrics. */
  readonly threads?: GaugeSources['threads'];
  readonly clock?: Clock;
  /** The settings that replies depend on; defaults of the network where absent. */
  readonly sources?: ReadSources;
  /** Called when an operator asks for the end. */
  readonly shutDown?: () => void;
  /** The topics that are served; the running program leaves this out. */
  readonly plugins?: readonly RoutePlugin[];
}

interface Attachment {
  readonly node: NodePort;
  readonly reads: ChainReads;
}

export interface ApiServer {
  readonly url: string;
  readonly port: number;
  readonly opsUrl: string | null;
  readonly context: ServerContext;
  readonly auth: Authenticator;
  /** The node is there: everything is served from now on. Tells where a first key was written, if one was. */
  attach(attachment: Attachment): { initialKeyFile: string } | null;
  /** Stops accepting, closes the WebSockets and waits a bounded time for running requests. */
  stop(reason: string): Promise<void>;
}

/**
 * Opens the HTTP listener. Until `attach` only liveness, health and readiness are answered. Throws OperatorError on
 * unusable credentials in the options, and what Bun throws when the address is taken.
 */
export function startApi(deps: ApiDependencies): ApiServer {
  const { options, log, startedAt, threads = () => [], clock = systemClock } = deps;
  // What a test makes the node take for the time is nothing to credentials.
  const host = deps.clock ?? hostClock;
  const state: { phase: Phase; attached: Attachment | null; tip: TipView | null } = {
    phase: 'starting',
    attached: null,
    tip: null,
  };
  const attached = (): Attachment => {
    if (!state.attached) throw new ApiError('warming_up', 'the node is starting');
    return state.attached;
  };
  const cache = options.cache.enabled ? new ByteCache(options.cache.maxBytes) : null;
  const replies = new ReplyLedger(options.limits.unsentReplies);
  const refusals = new RefusalPace(clock);
  const metrics = new ApiMetrics(
    { service: options.service, version: options.version, commit: options.commit, startedAt: unixSeconds(host) },
    {
      chain: () => state.attached && chainGauges(state.attached),
      mempool: () => {
        const { totals, entries } = mempool.mirror;
        return totals && { ...totals, count: entries.count };
      },
      counters: () => state.attached?.node.counters() ?? null,
      fees: () => mempool.mirror.fees,
      eventsSeq: () => state.attached && events.latest,
      databases: () => databaseSizes(options),
      wallets: () => state.attached?.node.status().wallets ?? [],
      walletBalances: options.metrics.walletBalances ? () => collectWalletBalances(context) : null,
      wsConnections: () => hub.size,
      wsBackpressured: () => hub.backpressured,
      wsWatched: () => ({ connection: hub.watched, key: watches.total }),
      auditWritable: () => audit.writable,
      initialKeyFile: () => auth.hasInitialKeyFile,
      cacheReady: () => cache !== null,
      threads,
      uptimeSeconds: () => Math.max(0, unixSeconds(host) - startedAt),
    },
  );
  const auth = new Authenticator(options, log, host, metrics);
  const audit = new AuditLog({ keep: options.audit.keep, log, metrics });
  const events = new EventLog({
    clock,
    limits: options.limits.eventLog,
    unconfirmed: () => mempool.mirror.sources(),
    onChainEvent: (type, data) => metrics.event(type, data),
    onError: (error) => log.error('the event log cannot be read', { error }),
  });
  let toldFees = '';
  const tellFees = (report: FeeReport) => {
    if (!state.tip) return;
    const { height, hash } = state.tip;
    const { tip, updatedAt, ...rates } = feesView(report, report.floor, { height, hash }, unixSeconds(clock));
    const text = JSON.stringify(rates);
    // What has not changed is no news.
    if (text !== toldFees) hub.announce('feeUpdate', JSON.stringify({ ...rates, tip, updatedAt }));
    toldFees = text;
  };
  const mempool = new MempoolFeed({
    clock,
    onChanges(changes) {
      for (const change of changes)
        if (change.kind === 'added') metrics.mempoolChange('added', '');
        else if (change.kind === 'removed') metrics.mempoolChange('removed', change.reason);
        else if (change.kind === 'fees') tellFees(change.report);
      hub.mempoolChanged(changes);
    },
    onCommit({ lastSeq }) {
      state.tip = tipView(attached().reads);
      hub.committed(lastSeq);
    },
    onTaken: (bytes) => attached().node.acknowledge(bytes),
  });
  const stopping = new AbortController();
  const registry = new WatchRegistry();
  const { watchesPerKey, watchesTotal } = options.limits;
  const watches = new StoredWatches({
    registry,
    params: deps.params,
    perKey: watchesPerKey,
    inAll: watchesTotal,
    log,
    clock,
    isOwner: (id) => auth.isOwner(id),
  });
  const queries = new ReadService({
    options,
    sources: deps.sources ?? sourcesOf(options, deps.params),
    log,
    cache,
    replies,
    reads: () => attached().reads,
    mempool,
    call: (request) => gate.call(request),
    startReader,
  });
  const wallets = new WalletReaders(options.networkDir, () => attached().node.status().wallets ?? null);
  const matcher = new Matcher({
    registry,
    runJob: (job) => queries.runJob({ job, signal: stopping.signal, long: false }),
    wallets: {
      states: () => wallets.states ?? [],
      knows: ({ name }, txid) => wallets.get(name)?.reads.txs.byTxid(hashFromHex(txid)) != null,
      stopping: stopping.signal,
    },
  });
  const hub = new Hub({
    options,
    params: deps.params,
    log,
    clock,
    metrics,
    events,
    registry,
    matcher,
    watches,
    status: () => state.tip && { ...state.tip, synced: isSyncedAt(context, state.tip) },
    syncStatus: () => state.attached && state.tip && syncStatus(context, state.attached.node.status(), state.tip),
    standing: (principal, ip) => auth.standing(principal, ip),
  });
  const context: ServerContext = {
    options,
    params: deps.params,
    log,
    metrics,
    replies,
    startedAt,
    reads: () => attached().reads,
    node: () => attached().node,
    queries,
    wallets,
    events,
    watches,
    matcher,
    mempool,
    tip: () => state.tip,
    call: (request) => gate.call(request),
    audit,
    checkKey: ({ principal, ip }, scope) => auth.followers.require(principal, ip, scope),
    follow: ({ principal, ip }, scope) => auth.followers.follow(principal, ip, scope),
    keys: () => auth.keys,
    keysChanged: () => auth.keysChanged(),
    issueTicket: (principal) => auth.issueTicket(principal),
    rpcProbe: null,
    stopping: stopping.signal,
    shutDown: deps.shutDown ?? null,
  };
  const readiness = new Readiness(
    options,
    {
      phase: () => state.phase,
      attached: () => state.attached,
      rpcProbe: () => context.rpcProbe,
      mempool: () => mempool.mirror.totals,
      sentSeq: () => hub.seq,
      auditWritable: () => audit.writable,
    },
    log,
    clock,
  );
  const app = composeApp(context, readiness, deps.plugins ?? []);
  const visitors = new Visitors();
  const clients = new ClientAddresses(options.http);
  const gateDeps: GateDependencies = {
    options,
    log,
    clock,
    metrics,
    auth,
    audit,
    clients,
    hosts: new HostPolicy({ ...options.http, bindHost: options.http.listen.host }),
    visitors,
    replies,
    parallel: new ParallelRequests(options.limits.parallelPerKey, 'requests'),
    longBodies: new ParallelRequests(LONG_BODIES_PER_KEY, 'requests with long bodies'),
    refusals,
    routes: new RouteTable(app.routes),
    app,
    phase: () => state.phase,
    tip: () => state.tip,
    syncing: () => state.attached?.node.status().initialBlockDownload === true,
    upgrade: (request, server, call) => upgradeToWebSocket(request, server, call, { options, auth, hub }),
  };
  const gate = new Gate(gateDeps);
  rehearse(gateDeps);
  const server = listen(options, gate, hub);
  const ops = options.opsListen && startOpsListener(options.opsListen, { options, metrics, readiness });
  const guard = startGuard(options, { ports: [server.port!, ...(ops ? [ops.port!] : [])], visitors, clients, log });
  warnAboutExposure(options, log);

  const detach: (() => void)[] = [
    auth.onKeysChecked(() => hub.checkKeys()),
    auth.onKeysChecked(() => watches.checkOwners()),
  ];
  let stopped: Promise<void> | null = null;
  const api: ApiServer = {
    url: server.url.href.replace(/\/$/, ''),
    port: server.port!,
    opsUrl: ops?.url.href.replace(/\/$/, '') ?? null,
    context,
    auth,
    attach(attachment) {
      const initialKey = auth.open();
      audit.open(join(options.networkDir, 'auth.db'));
      watches.open(join(options.networkDir, 'watches.db'));
      state.attached = attachment;
      state.tip = tipView(attachment.reads);
      mempool.startAt(state.tip.hash);
      hub.attach(attachment.reads);
      detach.push(
        attachment.node.onUpdate((news) => mempool.take(news)),
        attachment.node.onPeerChange((change) => hub.announce(...peerEvent(change))),
      );
      state.phase = 'live';
      void readiness.run();
      return initialKey;
    },
    stop(reason) {
      stopped ??= stopServer(reason);
      return stopped;
    },
  };
  async function stopServer(reason: string): Promise<void> {
    log.info('the API stops', { reason });
    state.phase = 'stopping';
    for (const end of detach) end();
    stopping.abort();
    hub.stop();
    auth.stopWaiting();
    refusals.stop();
    // `stop` refuses new connections at once and resolves when the open ones are done.
    await Promise.race([server.stop(), Bun.sleep(MAX_DRAIN_MS)]);
    await server.stop(true);
    await ops?.stop(true);
    await queries.close();
    wallets.close();
    readiness.stop();
    guard?.stop();
    await watches.close();
    await audit.close();
    auth.close();
  }
  deps.signal?.addEventListener('abort', () => void api.stop('aborted'), { once: true });
  return api;
}

/** Answers one request that nobody asked, so that the first one that somebody does finds everything compiled. */
function rehearse(deps: GateDependencies): void {
  const gate = new Gate({ ...deps, metrics: { http: () => {}, rateLimited: () => {} } });
  void gate.handle(new Request('http://localhost/healthz'), { requestIP: () => null, upgrade: () => false });
}

function listen({ http, limits }: ApiOptions, gate: Gate, hub: Hub): Server<SocketData> {
  return Bun.serve<SocketData>({
    hostname: http.listen.host,
    port: http.listen.port,
    // Two processes on one port would share the requests silently.
    reusePort: false,
    development: false,
    maxRequestBodySize: MAX_BODY,
    idleTimeout: http.idleTimeout,
    ...(http.tls && { tls: { cert: Bun.file(http.tls.cert), key: Bun.file(http.tls.key), ciphers: TLS_CIPHERS } }),
    fetch: (request, server) => gate.handle(request, server),
    websocket: {
      maxPayloadLength: limits.wsFrameBytes,
      backpressureLimit: limits.wsSendBufferBytes,
      closeOnBackpressureLimit: false,
      idleTimeout: SOCKET_IDLE_SECONDS,
      sendPings: false,
      perMessageDeflate: true,
      open: (socket) => hub.opened(socket),
      message: (socket, message) => hub.received(socket, message),
      drain: (socket) => hub.drained(socket),
      pong: (socket) => hub.heard(socket),
      ping: (socket) => hub.heard(socket),
      close: (socket, code) => hub.closed(socket, code),
    },
  });
}

function sourcesOf({ service, version, userAgent, http }: ApiOptions, params: NetworkParams): ReadSources {
  return readSources(params, { service, version, userAgent, publicUrl: http.publicUrl });
}

/** Data of `syncStatus`. */
function syncStatus(
  context: ServerContext,
  { headers, sync, verificationProgress }: NodeStatus,
  tip: TipView,
): SyncStatus {
  const state = isSyncedAt(context, tip) ? 'synced' : 'syncing';
  const { phase, presynced } = sync;
  return { state, height: tip.height, headers, progress: verificationProgress, phase, presynced };
}

function tipView(reads: ChainReads): TipView {
  const { height, hash, header } = reads.tip();
  return { height, hash: hashToHex(hash), time: headerFromBytes(header).time };
}

function chainGauges({ node, reads }: Attachment) {
  return reads.snapshot(() => {
    const tip = reads.tip();
    const { time, bits } = headerFromBytes(tip.header);
    const { headers, verificationProgress, initialBlockDownload, unknownRules, heavierInvalidChain } = node.status();
    const totals = reads.headers.totals(tip.height);
    return {
      height: tip.height,
      headers,
      tipTime: time,
      difficulty: difficultyOf(bits),
      verificationProgress,
      initialBlockDownload,
      unknownRules: unknownRules.length > 0,
      heavierInvalidChain,
      circulating: totals?.circulating ?? null,
      utxos: totals?.utxos ?? null,
    };
  });
}

async function databaseSizes({ networkDir, chainDir }: ApiOptions) {
  const sizes = ['chain', 'node', 'auth', 'watches'].map(async (name) => {
    const path = join(name === 'chain' ? chainDir : networkDir, `${name}.db`);
    return { name, bytes: await fileSize(path), walBytes: await fileSize(`${path}-wal`) };
  });
  return Promise.all(sizes);
}

function warnAboutExposure({ http }: ApiOptions, log: Log): void {
  if (http.tls || isLocal(http.listen)) return;
  log.warn('HTTP without TLS listens beyond this host; put a proxy with TLS before it', { ...http.listen });
}

function isLocal({ host }: ListenAddress): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}
