import type { Call, Following } from '../http/call.ts';
import type { DirectRoute } from '../http/direct-route.ts';
import type { ApiOptions } from '../http/options.ts';
import type { ReplyLedger } from '../http/reply-ledger.ts';
import type { Scope } from '../http/scopes.ts';
import type { NetworkParams } from '../params/network-params.ts';
import type { NodePort } from '../port/node-port.ts';
import type { Counts } from '../util/counts.ts';
import type { Log } from '../util/log.ts';
import type { MempoolState } from './mempool-state.ts';
import type { AnswerService } from './read-service.ts';
import type { TipSource, TipView } from './tip-view.ts';
import type { WalletReaders } from './wallet-readers.ts';

/** Counts the results of submitted transactions. */
export interface BroadcastMetrics {
  txBroadcast(result: 'accepted' | 'scheduled' | 'already_in_mempool' | 'already_confirmed' | 'rejected'): void;
  mempoolRejected(reason: string): void;
}

/** The services that both REST and JSON-RPC use. */
export interface ApiContext {
  readonly options: ApiOptions;
  readonly params: NetworkParams;
  readonly log: Log;
  readonly metrics: BroadcastMetrics;
  /** Long replies that are not sent completely. */
  readonly replies: ReplyLedger;
  /** Start time, Unix seconds. */
  readonly startedAt: number;
  /** Returns what reads the tip. Throws ApiError `warming_up` until the node is attached; so does `node`. */
  reads(): TipSource;
  node(): NodePort;
  readonly queries: AnswerService;
  readonly wallets: WalletReaders;
  readonly mempool: MempoolState;
  /** null until the node is attached. */
  tip(): TipView | null;
  call(request: Request): Call;
  /** Adds a direct route, before the server serves. */
  answerDirectly(route: DirectRoute): void;
  /** Follows a request that waits or takes long: it ends when its key loses the right to make it. */
  follow(call: Call, scope: Scope): Following;
  /** Counts that all fronts share; null with one front. */
  readonly sharedCounts: Counts | null;
  /** Aborts when the server stops. Every wait then ends with the current state. */
  readonly stopping: AbortSignal;
}
