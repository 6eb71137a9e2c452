import type { Call, Following } from '../http/call.ts';
import type { ApiOptions } from '../http/options.ts';
import type { ReplyLedger } from '../http/reply-ledger.ts';
import type { Scope } from '../http/scopes.ts';
import type { NetworkParams } from '../params/network-params.ts';
import type { NodePort } from '../port/node-port.ts';
import type { ChainReads } from '../storage/chain-reads.ts';
import type { Log } from '../util/log.ts';
import type { MempoolState } from './mempool-state.ts';
import type { ReadService } from './read-service.ts';
import type { TipView } from './tip-view.ts';
import type { WalletReaders } from './wallet-readers.ts';

/** Counts the results of submitted transactions. */
export interface BroadcastMetrics {
  txBroadcast(result: 'accepted' | 'already_in_mempool' | 'already_confirmed' | 'rejected'): void;
  mempoolRejected(reason: string): void;
}

/** Everything that both REST and JSON-RPC answer from. */
export interface ApiContext {
  readonly options: ApiOptions;
  readonly params: NetworkParams;
  readonly log: Log;
  readonly metrics: BroadcastMetrics;
  /** Long replies that are not sent yet. */
  readonly replies: ReplyLedger;
  /** Unix seconds of the start. */
  readonly startedAt: number;
  /** Throws ApiError `warming_up` until the node is attached; so does `node`. */
  reads(): ChainReads;
  node(): NodePort;
  readonly queries: ReadService;
  readonly wallets: WalletReaders;
  readonly mempool: MempoolState;
  /** null before the node is attached. */
  tip(): TipView | null;
  call(request: Request): Call;
  /** For a request that waits or takes long: it ends when its key may no longer make it. */
  follow(call: Call, scope: Scope): Following;
  /** Aborts when the server stops: every wait then ends with the current state. */
  readonly stopping: AbortSignal;
}
