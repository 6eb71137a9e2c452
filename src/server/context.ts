import type { AuditLog } from '../auth/audit/audit-log.ts';
import type { KeyAdmin } from '../auth/key-admin.ts';
import type { Following } from '../auth/key-followers.ts';
import type { IssuedTicket } from '../auth/tickets.ts';
import type { EventLog } from '../feed/event-log.ts';
import type { Matcher } from '../feed/matcher.ts';
import type { MempoolFeed } from '../feed/mempool-feed.ts';
import type { StoredWatches } from '../feed/stored-watches.ts';
import type { ByteCache } from '../http/byte-cache.ts';
import type { ApiOptions } from '../http/options.ts';
import type { ReplyLedger } from '../http/reply-ledger.ts';
import type { Scope } from '../http/scopes.ts';
import type { NetworkParams } from '../params/network-params.ts';
import type { NodePort } from '../port/node-port.ts';
import type { ChainReads } from '../storage/chain-reads.ts';
import type { Log } from '../util/log.ts';
import type { ApiMetrics } from './ops/metrics.ts';

/** Who asks. `id` names the key in logs and limits: its public id, `static`, `cookie`, or `rpcauth:<user>`. */
export interface Principal {
  readonly kind: 'key' | 'static' | 'cookie' | 'rpcauth' | 'anonymous';
  readonly id: string;
  /** Which of a key's secrets was presented: a key that is being rotated has several. null for other callers. */
  readonly secretId: string | null;
  readonly scopes: ReadonlySet<Scope>;
  /** Names of the wallets the caller may use; null allows every wallet. */
  readonly wallets: ReadonlySet<string> | null;
  /** Lower-case RPC method names the caller is held to; null sets no bound. */
  readonly rpcWhitelist: ReadonlySet<string> | null;
}

/** The caller of a request without credentials. */
export const ANONYMOUS: Principal = {
  kind: 'anonymous',
  id: 'anonymous',
  secretId: null,
  scopes: new Set(),
  wallets: null,
  rpcWhitelist: null,
};

/** One request as the gate saw it, before any handler ran. */
export interface Call {
  readonly requestId: string;
  readonly principal: Principal;
  /** Without an IPv4-mapped prefix. */
  readonly ip: string;
  /** Throws ApiError `insufficient_scope` unless the caller holds the scope. */
  require(scope: Scope): void;
  /** Takes `cost` more from the caller's allowance (1 is already taken). Throws ApiError `rate_limited`. */
  charge(cost: number): void;
}

/** The latest committed tip; replies that read their own snapshot name that one instead. */
export interface TipView {
  readonly height: number;
  /** Display order. */
  readonly hash: string;
  readonly time: number;
}

/** What the endpoints are a function of. */
export interface ApiContext {
  readonly options: ApiOptions;
  readonly params: NetworkParams;
  readonly log: Log;
  readonly metrics: ApiMetrics;
  /** Shared by all endpoints; null when switched off. */
  readonly cache: ByteCache | null;
  /** Long replies that are not sent yet. */
  readonly replies: ReplyLedger;
  /** Unix seconds of the start. */
  readonly startedAt: number;
  /** Throws ApiError `warming_up` until the node is attached; so does `node`. */
  reads(): ChainReads;
  node(): NodePort;
  /** All events, of the chain and of the mempool. */
  readonly events: EventLog;
  /** What keys have asked to be told of, and what events mean to them. */
  readonly watches: StoredWatches;
  readonly matcher: Matcher;
  /** The mempool, in line with what the node tells. */
  readonly mempool: MempoolFeed;
  /** null before the node is attached. */
  tip(): TipView | null;
  call(request: Request): Call;
  /** Throws ApiError where the key may no longer make a call of a request that was admitted before. */
  checkKey(call: Call, scope: Scope): void;
  /** For a request that waits or takes long: it ends with the right of its key to make it. */
  follow(call: Call, scope: Scope): Following;
  /** Management of API keys. Throws ApiError before the node is attached. */
  keys(): KeyAdmin;
  /** To be called when keys were changed. */
  keysChanged(): void;
  /** The record of who did what. */
  readonly audit: AuditLog;
  /** A ticket for one WebSocket. Throws ApiError where too many are open. */
  issueTicket(principal: Principal): IssuedTicket;
  /** Runs `getblockcount` through the dispatcher; set by the JSON-RPC endpoint, asked by the readiness check. */
  rpcProbe: (() => Promise<unknown>) | null;
  /** Starts a reader worker. */
  readonly startReader: () => Worker;
  /** Aborts when the server stops: whoever waits for something then answers with what there is. */
  readonly stopping: AbortSignal;
  /** Asks the program to stop; null where it cannot be asked. */
  readonly shutDown: (() => void) | null;
  /** Called once when the server has answered its last request; for what an endpoint holds open. */
  onStop(listener: () => void | Promise<void>): void;
}
