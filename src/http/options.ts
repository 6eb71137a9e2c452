import type { ReplyLimits } from './reply-ledger.ts';
import type { Scope } from './scopes.ts';

/** Access to the REST interface of Bitcoin Core: with a key as other reads, or without one. */
type CoreRestAccess = 'off' | 'keyed' | 'public';

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

/** The options of webhooks. */
export interface WebhookOptions {
  /** Addresses and subnets that are allowed as targets although they are not public. */
  readonly allowedNetworks: readonly string[];
  /** Path of a PEM file with further certificate authorities for receivers; null without one. */
  readonly authorities: string | null;
  /** Limits of the hooks of one key, and of all keys. */
  readonly perKey: number;
  readonly total: number;
  /** Time limits until a connection is open, and from then until the reply, milliseconds. */
  readonly connectMs: number;
  readonly replyMs: number;
  /** Longest pause between two attempts, and time of failures after which a hook is disabled, milliseconds. */
  readonly maxPauseMs: number;
  readonly disableAfterMs: number;
}

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
  /** The file of the log; null where it goes to stderr. */
  readonly logFile: string | null;
  /** The directory of chain.db, block files and filters. */
  readonly chainDir: string;
  /** Further paths of the cookie file. On main, bitcoin-cli looks in the data directory itself. */
  readonly extraCookieFiles: readonly string[];

  readonly http: {
    /** At least one address. Port 0 lets the system choose. */
    readonly listen: readonly ListenAddress[];
    readonly publicUrl: string | null;
    /** Allowed host names, besides loopback names, the hosts of `listen` and the host of `publicUrl`. */
    readonly allowedHosts: readonly string[];
    readonly corsOrigins: readonly string[];
    /** Who may use the REST interface of Bitcoin Core. */
    readonly coreRest: CoreRestAccess;
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
    /** Attempts of one address per minute to log in with a code. */
    readonly loginsPerMinute: number;
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
  readonly webhooks: WebhookOptions;
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
