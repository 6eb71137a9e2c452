import { dirname, join } from 'node:path';
import type { Config } from '../config/settings.ts';
import type { ApiOptions } from '../http/options.ts';
import type { Scope } from '../http/scopes.ts';
import { userAgentOf } from '../p2p/p2p-protocol.ts';
import type { NetworkParams } from '../params/network-params.ts';
import type { ReadSettings, ReadSources } from '../queries/read-settings.ts';
import { COMMIT, VERSION } from '../util/build-version.ts';
import type { DescriptorBudget } from './descriptor-budget.ts';
import { frontCount } from './front-count.ts';
import { miningOptionsOf } from './mining-limits.ts';
import { pruneSettingsOf } from './prune-settings.ts';
import { relayOptionsOf } from './relay-settings.ts';

const MIB = 1024 ** 2;

/** Limits that no setting changes. */
const FIXED_LIMITS = {
  publicRateOnLoopback: true,
  unsentReplies: { perOwner: 24 * MIB, total: 64 * MIB },
  wsWatched: 5000,
  wsWatchedTotal: 100_000,
  loginsPerMinute: 10,
  wsTicketsPerKey: 100,
  wsTicketsTotal: 10_000,
  eventLog: { entries: 200_000, bytes: 32 * MIB, ageMs: 24 * 3600 * 1000 },
  eventWaitsPerKey: 20,
  eventWaitsTotal: 1000,
} as const satisfies Partial<ApiOptions['limits']>;

const WS_SWEEP_MS = 5000;
/** Bytes of the caches of all fronts together. */
const CACHE_BYTES = 64 * MIB;

/** Returns the options of the API. `staticKey` comes from the environment and stands in no file. */
export function apiOptionsOf(
  config: Config,
  staticKey: string | null,
  budget: DescriptorBudget | null = null,
): ApiOptions {
  const { http, rpc, ws, ready, webhooks } = config;
  const { limits } = http;
  return {
    service: config.service.name,
    version: VERSION,
    commit: COMMIT ?? 'unknown',
    userAgent: userAgentOf(config.p2p.userAgentComments),
    network: config.network,
    networkDir: config.networkDir,
    logFile: config.log.file,
    chainDir: config.chainDir,
    // On main, bitcoin-cli reads the cookie from the data directory itself.
    extraCookieFiles: config.network === 'main' ? [join(dirname(config.networkDir), '.cookie')] : [],
    http: {
      listen: http.listen,
      publicUrl: http.publicUrl,
      allowedHosts: http.allowedHosts,
      corsOrigins: http.corsOrigins,
      coreRest: http.coreRest,
      trustedProxies: http.trustedProxies,
      proxyHeader: http.proxyHeader,
      tls: http.tls.cert && http.tls.key ? { cert: http.tls.cert, key: http.tls.key } : null,
      idleTimeout: limits.keepAlive,
      requestTimeoutMs: limits.requestTimeout * 1000,
    },
    auth: {
      staticKey,
      basic: rpc.basic,
      rpcUsers: rpcUsers(config),
      cookieWhitelist: rpcWhitelistOf(config, '__cookie__'),
    },
    limits: {
      ...FIXED_LIMITS,
      publicRate: { perSecond: limits.publicRate, burst: limits.publicBurst },
      authFailuresPerMinute: limits.authFailuresPerMinute,
      connections: budget?.http ?? limits.connections,
      connectionsPerAddress: limits.connectionsPerAddress,
      urlBytes: limits.urlBytes,
      parallelPerKey: limits.parallelPerKey,
      txBodyBytes: limits.txBodyBytes,
      rpcBodyBytes: limits.rpcBodyBytes,
      rpcMaxBatch: rpc.maxBatch,
      rpcMaxRunning: rpc.maxRunning,
      rpcMaxQueued: rpc.maxQueued,
      wsFrameBytes: ws.frameBytes,
      wsSendBufferBytes: ws.sendBufferBytes,
      wsPerKey: ws.connectionsPerKey,
      wsTotal: ws.connections,
      wsAnonymousPerIp: ws.anonymousPerIp,
      wsMessagesPer10s: Math.ceil((ws.messages * 10) / ws.messageWindow),
      watchesPerKey: ws.watchesPerKey,
      watchesTotal: ws.watches,
      wsMaxLagEvents: ws.maxLagEvents,
      wsMaxLagMs: ws.maxLagSeconds * 1000,
    },
    pages: http.pages,
    ws: { auth: ws.auth, sweepMs: WS_SWEEP_MS },
    descriptors: { limit: budget?.limit ?? Number.POSITIVE_INFINITY, headroom: budget?.headroom ?? 0 },
    webhooks: {
      allowedNetworks: webhooks.allowedNetworks,
      authorities: webhooks.authorities,
      perKey: webhooks.perKey,
      total: webhooks.total,
      connectMs: webhooks.connectTimeout * 1000,
      replyMs: webhooks.replyTimeout * 1000,
      maxPauseMs: webhooks.maxPause * 1000,
      disableAfterMs: webhooks.disableAfter * 1000,
    },
    opsListen: config.ops.listen,
    ready: {
      details: ready.details,
      maxTipAge: config.chain.maxTipAge,
      diskDegradedBytes: ready.disk.degraded * MIB,
      diskFailBytes: ready.disk.fail * MIB,
    },
    cache: { enabled: config.cache.enabled, maxBytes: Math.floor(CACHE_BYTES / frontCount(config)) },
    audit: { keep: config.audit.keep },
    metrics: { walletBalances: config.metrics.walletBalances },
  };
}

/** Returns the inputs of read replies that do not come from the chain. */
export function readSourcesOf(config: Config, params: NetworkParams): ReadSources {
  const { listing, http, service, index } = config;
  const settings: ReadSettings = {
    service: service.name,
    version: VERSION,
    userAgent: userAgentOf(config.p2p.userAgentComments),
    publicUrl: http.publicUrl?.replace(/\/$/, '') ?? null,
    relay: relayOptionsOf(config),
    blockMinFeerate: miningOptionsOf(config).minFeerate,
    feeFallback: config.fees.fallback,
    filterIndex: index.filter,
    deprecated: config.rpc.deprecated,
    prune: pruneSettingsOf(config),
    wallet: { trustsOwn: config.wallet.spendUnconfirmedChange, replaceable: config.wallet.replaceable },
    indexes: { tx: index.tx, address: index.address, spender: index.spender, coinStats: index.coinStats },
    listing: {
      name: listing.name ?? 'Bitcoin',
      symbol: listing.symbol ?? 'BTC',
      confirmations: listing.confirmations,
      license: null,
      links: listing.links,
    },
  };
  return { params, settings };
}

function rpcUsers(config: Config): ApiOptions['auth']['rpcUsers'] {
  return config.rpcauth.map((line) => ({
    rpcauth: line,
    scopes: config.rpcscopes as readonly Scope[],
    whitelist: rpcWhitelistOf(config, line.slice(0, line.indexOf(':'))),
  }));
}

/** Null allows all methods. As in Bitcoin Core, a user without a list may call nothing once any list exists. */
function rpcWhitelistOf({ rpcwhitelist, rpcwhitelistdefault }: Config, name: string): readonly string[] | null {
  const own = rpcwhitelist.find(({ user }) => user === null || user === name);
  if (own) return own.methods;
  return (rpcwhitelistdefault ?? rpcwhitelist.length > 0) ? [] : null;
}
