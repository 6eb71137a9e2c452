import type { ReplyLimits } from './reply-ledger.ts';
import type { Scope } from './scopes.ts';

/** The header in which trusted proxies name their clients. */
export type ProxyHeader = 'x-forwarded-for' | 'forwarded';

/** Tokens a second and the most that may be saved up. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** IPv6 without its brackets. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** A line of `rpcauth`: `user:salt$hmac_sha256_hex`, and what that user may do. */
export interface RpcUser {
  readonly rpcauth: string;
  readonly scopes: readonly Scope[];
  /** Method names; null allows all that the scopes allow. */
  readonly whitelist: readonly string[] | null;
}

/** Entries on a page of a list where none is asked for, and the most that may be. */
export interface PageLimits {
  readonly default: number;
  readonly max: number;
}

/** What may stay in memory; whichever is reached first. */
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

/** Everything the API is told at start; the composition fills it from the configuration. */
export interface ApiOptions {
  /** `service` in health answers and metrics. */
  readonly service: string;
  readonly version: string;
  readonly commit: string;
  /** BIP-14 string, `/Obverse:0.1.0/`. */
  readonly userAgent: string;
  readonly network: string;
  /** The directory of the network: auth.db, .cookie and initial.key live in it. */
  readonly networkDir: string;
  /** Where the chain is stored: chain.db, block files, filters. */
  readonly chainDir: string;
  /** Further places the cookie is written to; on main also the data directory itself, where bitcoin-cli looks. */
  readonly extraCookieFiles: readonly string[];

  readonly http: {
    /** Port 0 takes a free one. */
    readonly listen: ListenAddress;
    readonly publicUrl: string | null;
    /** Host names allowed beside loopback names, the bind host and the host of `publicUrl`. */
    readonly allowedHosts: readonly string[];
    readonly corsOrigins: readonly string[];
    /** Addresses and subnets of proxies whose `proxyHeader` names the client. */
    readonly trustedProxies: readonly string[];
    readonly proxyHeader: ProxyHeader;
    /** Files in PEM form. */
    readonly tls: { readonly cert: string; readonly key: string } | null;
    /** Seconds a connection may idle. */
    readonly idleTimeout: number;
    /** Milliseconds a REST read may take; 0 sets no limit. */
    readonly requestTimeoutMs: number;
  };

  readonly auth: {
    /** The environment's OBVERSE_API_KEY: one key with all scopes. */
    readonly staticKey: string | null;
    /** HTTP Basic on the JSON-RPC paths. */
    readonly basic: boolean;
    readonly rpcUsers: readonly RpcUser[];
    /** Method names for the cookie file's user; null allows all. */
    readonly cookieWhitelist: readonly string[] | null;
  };

  readonly limits: {
    /** Of one address on the public routes; null sets no limit. */
    readonly publicRate: Rate | null;
    readonly publicRateOnLoopback: boolean;
    /** Failed authentications of one address in a minute before they are answered with 429. */
    readonly authFailuresPerMinute: number;
    /** Connections of all HTTP listeners, and of one address beyond loopback. */
    readonly connections: number;
    readonly connectionsPerAddress: number;
    /** Characters of path and query. */
    readonly urlBytes: number;
    /** Bytes of long replies that are not sent yet. */
    readonly unsentReplies: ReplyLimits;
    /** REST requests of one key, or of one address without a key, that are not answered yet. */
    readonly parallelPerKey: number;
    readonly txBodyBytes: number;
    readonly rpcBodyBytes: number;
    /** Calls of a JSON-RPC batch; requests of one key that run at a time, and that wait. */
    readonly rpcMaxBatch: number;
    readonly rpcMaxRunning: number;
    readonly rpcMaxQueued: number;
    readonly wsFrameBytes: number;
    /** Unsent bytes of a connection at which pushing stops. */
    readonly wsSendBufferBytes: number;
    readonly wsPerKey: number;
    readonly wsTotal: number;
    readonly wsAnonymousPerIp: number;
    readonly wsMessagesPer10s: number;
    /** Events a connection may lie behind, and milliseconds it may stay blocked, before close code 4008. */
    readonly wsMaxLagEvents: number;
    readonly wsMaxLagMs: number;
    /** Items that a connection, and all of them together, may watch. */
    readonly wsWatched: number;
    readonly wsWatchedTotal: number;
    /** Items stored for one key, and for all. */
    readonly watchesPerKey: number;
    readonly watchesTotal: number;
    /** Tickets for a WebSocket that are not used yet: of one key, and of all. */
    readonly wsTicketsPerKey: number;
    readonly wsTicketsTotal: number;
    /** Events that stay in memory. */
    readonly eventLog: EventLogLimits;
    /** Requests for events that may wait for some: of one key, and of all. */
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
    /** Milliseconds between looks at all connections: pings, heartbeats, and who is too slow. */
    readonly sweepMs: number;
  };
  /** A second listener for probes and metrics without credentials; null is off. */
  readonly opsListen: ListenAddress | null;
  readonly ready: {
    readonly details: boolean;
    /** Seconds; 0 does not look at the age of the tip. */
    readonly maxTipAge: number;
    readonly diskDegradedBytes: number;
    readonly diskFailBytes: number;
  };
  /** Descriptors that the process may have open, and how many of them HTTP connections leave free. */
  readonly descriptors: { readonly limit: number; readonly headroom: number };
  readonly cache: { readonly enabled: boolean; readonly maxBytes: number };
  readonly metrics: { readonly walletBalances: boolean };
  /** Rows that the audit log keeps. */
  readonly audit: { readonly keep: number };
}

const KIB = 1024;
const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

/** What of the options has no default. */
export type ApiIdentity = Pick<ApiOptions, 'network' | 'networkDir' | 'chainDir' | 'version'>;

/** Overrides of single values, group by group. */
export type ApiOverrides = {
  readonly [K in keyof ApiOptions]?: ApiOptions[K] extends readonly unknown[] | string | ListenAddress | null
    ? ApiOptions[K]
    : Partial<ApiOptions[K]>;
};

/** The documented defaults, with `overrides` laid over them group by group. */
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
