import type { ApiOptions } from '../http/options.ts';
import type { EntryColumns } from '../mempool/entry-columns.ts';
import type { NetworkParams } from '../params/network-params.ts';
import type { NodePort } from '../port/node-port.ts';
import type { ReadSources } from '../queries/read-settings.ts';
import type { ChainReads } from '../storage/chain-reads.ts';
import type { Clock } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import type { RoutePlugin } from './app.ts';
import type { FrontSharing } from './fronts/front-sharing.ts';
import type { GaugeSources } from './ops/state-gauges.ts';

export interface ApiDependencies {
  readonly options: ApiOptions;
  readonly params: NetworkParams;
  readonly log: Log;
  /** Stops the server when aborted. */
  readonly signal?: AbortSignal;
  /** Unix seconds. */
  readonly startedAt: number;
  /** State of the other threads, for metrics. */
  readonly threads?: GaugeSources['threads'];
  readonly clock?: Clock;
  /** Settings that replies depend on. */
  readonly sources: ReadSources;
  /** Called at the beginning of the stop, while requests are still running. */
  readonly onStopping?: () => void;
  /** Called at the end of the stop. */
  readonly onStopped?: () => void;
  /** The columns of the mempool, if they are known before the first update. */
  readonly columns?: EntryColumns;
  /** Called when everything is loaded, before the listener opens. */
  readonly beforeListening?: () => void;
  /** The parts that this front shares with others; absent with one front. */
  readonly sharing?: FrontSharing;
  /** Called when an operator asks the program to stop. */
  readonly shutDown?: () => void;
  /** Routes beside those of operations. */
  readonly plugins?: readonly RoutePlugin[];
}

/** The state of the node from which on a front has received all updates. */
export interface FrontStart {
  /** Number of the newest event then. */
  readonly seq: number;
  /** Hash of the tip then, display order. */
  readonly tip: string;
}

/** The node whose state a server shows. */
export interface Attachment {
  readonly node: NodePort;
  readonly reads: ChainReads;
  /** The start of the first front; absent on that front itself. */
  readonly from?: FrontStart;
}
