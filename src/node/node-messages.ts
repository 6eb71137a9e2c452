import type { MessagePort } from 'node:worker_threads';
import type { Config } from '../config/settings.ts';
import type { EntryColumns } from '../mempool/entry-columns.ts';
import type { NodeCallName } from '../port/node-calls.ts';
import type { NodeCounters, NodeStatus, NodeUpdate, PeerChange } from '../port/node-port.ts';
import type { CategoryLevels } from '../util/log-levels.ts';

/**
 * Messages from the fronts to the node thread. The main thread, which is the first front, sends `open` first and `close`
 * last.
 */
export type ToNode =
  | {
      readonly type: 'open';
      readonly config: Config;
      /** The columns of the mempool, which the fronts have as well. */
      readonly columns: EntryColumns;
      /** Not zero when the program is to stop: long work before the end of the opening reads it, not messages. */
      readonly stopping: Int32Array;
      /** The ports of the further fronts. */
      readonly fronts: readonly MessagePort[];
    }
  | { readonly type: 'close' }
  /** Acknowledges that this many whole updates and bytes, as `changeBytes` counts, have been applied. */
  | { readonly type: 'acknowledge'; readonly bytes: number; readonly updates: number }
  /** The client of a call has disconnected, so the call may be cancelled. */
  | { readonly type: 'cancel'; readonly id: number }
  | { readonly type: 'call'; readonly id: number; readonly name: NodeCallName; readonly args: readonly unknown[] };

/**
 * Messages from the node thread to the fronts. All of them receive each push, and pushes are numbered; a reply names the
 * last push of its call.
 */
export type FromNode =
  | { readonly type: 'opened'; readonly status: NodeStatus }
  /**
   * A part failed permanently. `operator` is true if the message alone is meant for the operator; the members of an
   * OperatorError follow.
   */
  | {
      readonly type: 'failed';
      readonly message: string;
      readonly operator: boolean;
      readonly isOfSettings: boolean;
      readonly startsAgain: boolean;
    }
  | { readonly type: 'closed' }
  /** The chain has the height at which the node is to stop. */
  | { readonly type: 'stopHeight' }
  | (NodePush & { readonly push: number })
  | {
      readonly type: 'reply';
      readonly id: number;
      readonly result?: unknown;
      readonly error?: string;
      /** The last push that the call caused; absent without one, and with one front. */
      readonly push?: number;
    };

/** A message to all fronts. */
export type NodePush =
  | { readonly type: 'status'; readonly status: NodeStatus; readonly counters: NodeCounters }
  | { readonly type: 'peer'; readonly change: PeerChange }
  /** Settings of each thread, which a call has changed. */
  | { readonly type: 'mockTime'; readonly seconds: number }
  | { readonly type: 'logLevels'; readonly levels: CategoryLevels; readonly areConfigured: boolean }
  /** Readers already see the changes that the update reports. */
  | { readonly type: 'update'; readonly update: NodeUpdate; readonly status: NodeStatus | null };
