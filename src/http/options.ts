import type { ReplyLimits } from './reply-ledger.ts';
import type { Scope } from './scopes.ts';

/** The header in which trusted proxies name their clients. */
export type ProxyHeader = 'x-forwarded-for' | 'forwarded';

/** Tokens per second, and the largest number that can accumulate. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** An IPv6 address has no brackets. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** A line of `rpcauth`: `user:salt$hmac_sha256_hex`, and the rights of that user. */
export interface RpcUser {
  readonly rpcauth: string;
  readonly scopes: readonly Scope[];
  /** Method names; null allows all methods of the scopes. */
  readonly whitelist: readonly string[] | null;
}

/** Entries on a page of a list by default, and at most. */
export interface PageLimits {
  readonly default: number;
  readonly max: number;
}

/** Limits of the events in memory; the first one that is reached counts. */
export interface EventLogLimits {
  readonly entries: number;
  readonly bytes: number;
  readonly ageMs: number;
}

export const EVENT_LOG_LIMITS: EventLogLimits = {
  entries: 200_000,
  bytes: 128 * 1024 ** 2,
  ageMs: 24 * 3600 * 1000,
};

/** The options of the API, which the composition derives from the configuration. */
export interface ApiOptions {
  /** `service` in health answers and metrics. */
  readonly service: string;
  readonly version: string;
  readonly commit: string;
  /** BIP-14 string, `/Obverse:0.1.0/`. */
  readonly userAgent: string;
  readonly network: string;
  /** The directory of the network, which holds auth.db, .cookie and initial.key. */
  readonly networkDir: string;
  /** The directory of chain.db, block files and filters. */
  readonly chainDir: string;
  /** Further paths of the cookie file. On main, bitcoin-cli looks in the data directory itself. */
  readonly extraCookieFiles: readonly string[];

  readonly http: {
    /** Port 0 lets the system choose. */
    readonly listen: ListenAddress;
    readonly publicUrl: string | null;
    /** Allowed host names, besides loopback names, the bind host and the host of `publicUrl`. */
    readonly allowedHosts: readonly string[];
    readonly corsOrigins: readonly string[];
    /** Addresses and subnets of proxies whose `proxyHeader` names the client. */
    readonly trustedProxies: readonly string[];
    readonly proxyHeader: ProxyHeader;
    /** Paths of PEM files. */
    readonly tls: { readonly cert: string; readonly key: string } | null;
    /** Idle time-out of a connection, seconds. */
    readonly idleTimeout: number;
    /** Time limit of a REST read, milliseconds; 0 disables it. */
    readonly requestTimeoutMs: number;
  };

  readonly auth: {
    /** OBVERSE_API_KEY of the environment: one key with all scopes. */
    readonly staticKey: string | null;
    /** Whether HTTP Basic is enabled on the JSON-RPC paths. */
    readonly basic: boolean;
    readonly rpcUsers: readonly RpcUser[];
    /** Method names for the user of the cookie; null allows all. */
    readonly cookieWhitelist: readonly string[] | null;
  };

  readonly limits: {
    /** Rate limit of one address on the public routes; null disables it. */
    readonly publicRate: Rate | null;
    readonly publicRateOnLoopback: boolean;
    /** Failed authentications of one address per minute before the reply is 429. */
    readonly authFailuresPerMinute: number;
    /** Limits of connections: of all HTTP listeners together, and of one address other than loopback. */
    readonly connections: number;
    readonly connectionsPerAddress: number;
    /** Maximum length of path and query, characters. */
    readonly urlBytes: number;
    /** Limits of unsent bytes of long replies. */
    readonly unsentReplies: ReplyLimits;
    /** Limit of unanswered REST requests of one key, or of one address without a key. */
    readonly parallelPerKey: number;
    readonly txBodyBytes: number;
    readonly rpcBodyBytes: number;
    /** Limits of JSON-RPC: calls of a batch, and parallel and queued requests of one key. */
    readonly rpcMaxBatch: number;
    readonly rpcMaxRunning: number;
    readonly rpcMaxQueued: number;
    readonly wsFrameBytes: number;
    /** Unsent bytes of a connection at which the node stops sending. */
    readonly wsSendBufferBytes: number;
    readonly wsPerKey: number;
    readonly wsTotal: number;
    readonly wsAnonymousPerIp: number;
    readonly wsMessagesPer10s: number;
    /** Lag in events, and blocked time in milliseconds, after which a connection is closed with 4008. */
    readonly wsMaxLagEvents: number;
    readonly wsMaxLagMs: number;
    /** Limits of watched items: of one connection, and of all together. */
    readonly wsWatched: number;
    readonly wsWatchedTotal: number;
    /** Limits of stored watches: of one key, and of all. */
    readonly watchesPerKey: number;
    readonly watchesTotal: number;
    /** Limits of unused WebSocket tickets: of one key, and of all. */
    readonly wsTicketsPerKey: number;
    readonly wsTicketsTotal: number;
    /** Limits of the events in memory. */
    readonly eventLog: EventLogLimits;
    /** Limits of requests that wait for events: of one key, and of all. */
    readonly eventWaitsPerKey: number;
    readonly eventWaitsTotal: number;
  };

  readonly pages: {
    readonly blocks: PageLimits;
    readonly blockTxs: PageLimits;
    readonly addressTxs: PageLimits;
    readonly utxos: PageLimits;
    readonly mempoolTxids: PageLimits;
    readonly mempoolAddress: PageLimits;
    readonly events: PageLimits;
    readonly watches: PageLimits;
    readonly audit: PageLimits;
  };

  readonly ws: {
    readonly auth: 'required' | 'public';
    /**
     * Interval of the sweep over all connections, which sends pings and heartbeats and closes slow ones, milliseconds.
     */
    readonly sweepMs: number;
  };
  /** A second listener for probes and metrics without credentials; null disables it. */
  readonly opsListen: ListenAddress | null;
  readonly ready: {
    readonly details: boolean;
    /** Maximum age of the tip in seconds; 0 disables the check. */
    readonly maxTipAge: number;
    readonly diskDegradedBytes: number;
    readonly diskFailBytes: number;
  };
  /** File descriptors that the process may open, and the number that HTTP connections leave free. */
  readonly descriptors: { readonly limit: number; readonly headroom: number };
  readonly cache: { readonly enabled: boolean; readonly maxBytes: number };
  readonly metrics: { readonly walletBalances: boolean };
  /** Number of rows that the audit log keeps. */
  readonly audit: { readonly keep: number };
}

const KIB = 1024;
const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

/** The options without a default. */
export type ApiIdentity = Pick<ApiOptions, 'network' | 'networkDir' | 'chainDir' | 'version'>;

/** Overrides of single values, by group. */
export type ApiOverrides = {
  readonly [K in keyof ApiOptions]?: ApiOptions[K] extends readonly unknown[] | string | ListenAddress | null
    ? ApiOptions[K]
    : Partial<ApiOptions[K]>;
};

/** Returns the documented defaults with `overrides` applied. */
export function apiOptions(identity: ApiIdentity, overrides: ApiOverrides = {}): ApiOptions {
  const regtest = identity.network === 'regtest';
  return {
    service: overrides.service ?? 'obverse',
    version: identity.version,
    commit: overrides.commit ?? 'unknown',
    userAgent: overrides.userAgent ?? `/Obverse:${identity.version}/`,
    network: identity.network,
    networkDir: identity.networkDir,
    chainDir: identity.chainDir,
    extraCookieFiles: overrides.extraCookieFiles ?? [],
    http: {
      listen: { host: '127.0.0.1', port: 0 },
      publicUrl: null,
      allowedHosts: [],
      corsOrigins: [],
      trustedProxies: [],
      proxyHeader: 'x-forwarded-for',
      tls: null,
      idleTimeout: 30,
      requestTimeoutMs: 30_000,
      ...overrides.http,
    },
    auth: { staticKey: null, basic: true, rpcUsers: [], cookieWhitelist: null, ...overrides.auth },
    limits: {
      publicRate: { perSecond: 10, burst: 40 },
      publicRateOnLoopback: true,
      authFailuresPerMinute: 10,
      connections: 4096,
      connectionsPerAddress: 512,
      urlBytes: 8 * KIB,
      parallelPerKey: 64,
      unsentReplies: { perOwner: 24 * MIB, total: 64 * MIB },
      txBodyBytes: MIB,
      rpcBodyBytes: 16 * MIB,
      rpcMaxBatch: 1000,
      rpcMaxRunning: 16,
      rpcMaxQueued: 64,
      wsFrameBytes: 64 * KIB,
      wsSendBufferBytes: MIB,
      wsPerKey: 20,
      wsTotal: 1000,
      wsAnonymousPerIp: 5,
      wsMessagesPer10s: 100,
      wsMaxLagEvents: 100_000,
      wsMaxLagMs: 60_000,
      wsWatched: 5000,
      wsWatchedTotal: 100_000,
      watchesPerKey: 10_000,
      watchesTotal: 100_000,
      wsTicketsPerKey: 100,
      wsTicketsTotal: 10_000,
      eventLog: EVENT_LOG_LIMITS,
      eventWaitsPerKey: 20,
      eventWaitsTotal: 1000,
      ...overrides.limits,
    },
    pages: {
      blocks: { default: 20, max: 100 },
      blockTxs: { default: 100, max: 1000 },
      addressTxs: { default: 50, max: 500 },
      utxos: { default: 1000, max: 5000 },
      mempoolTxids: { default: 1000, max: 10_000 },
      mempoolAddress: { default: 100, max: 1000 },
      events: { default: 500, max: 5000 },
      watches: { default: 100, max: 1000 },
      audit: { default: 100, max: 1000 },
      ...overrides.pages,
    },
    ws: { auth: 'required', sweepMs: 5000, ...overrides.ws },
    opsListen: overrides.opsListen ?? null,
    ready: {
      details: true,
      maxTipAge: regtest ? 0 : 3 * 3600,
      diskDegradedBytes: regtest ? GIB : 10 * GIB,
      diskFailBytes: regtest ? 100 * MIB : GIB,
      ...overrides.ready,
    },
    descriptors: { limit: Number.POSITIVE_INFINITY, headroom: 0, ...overrides.descriptors },
    cache: { enabled: true, maxBytes: 64 * MIB, ...overrides.cache },
    metrics: { walletBalances: false, ...overrides.metrics },
    audit: { keep: 1_000_000, ...overrides.audit },
  };
}
