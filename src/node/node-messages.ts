import type { Config } from '../config/settings.ts';
import type { NodeCallName } from '../port/node-calls.ts';
import type { NodeCounters, NodeStatus, NodeUpdate, PeerChange } from '../port/node-port.ts';

/** Messages from the main thread to the node thread. `open` is the first, `close` the last. */
export type ToNode =
  | {
      readonly type: 'open';
      readonly config: Config;
      /** Not zero when the program is to stop: long work before the end of the opening reads it, not messages. */
      readonly stopping: Int32Array;
    }
  | { readonly type: 'close' }
  /** Acknowledges that this many whole updates and bytes, as `changeBytes` counts, have been applied. */
  | { readonly type: 'acknowledge'; readonly bytes: number; readonly updates: number }
  /** The client of a call has disconnected, so the call may be cancelled. */
  | { readonly type: 'cancel'; readonly id: number }
  | { readonly type: 'call'; readonly id: number; readonly name: NodeCallName; readonly args: readonly unknown[] };

/** Messages from the node thread to the main thread. */
export type FromNode =
  | { readonly type: 'opened'; readonly status: NodeStatus }
  /** A part failed permanently. `operator` is true if the message alone is meant for the operator. */
  | { readonly type: 'failed'; readonly message: string; readonly operator: boolean }
  | { readonly type: 'closed' }
  | { readonly type: 'status'; readonly status: NodeStatus; readonly counters: NodeCounters }
  | { readonly type: 'peer'; readonly change: PeerChange }
  /** Readers already see the changes that the update reports. */
  | { readonly type: 'update'; readonly update: NodeUpdate; readonly status: NodeStatus | null }
  | { readonly type: 'reply'; readonly id: number; readonly result?: unknown; readonly error?: string };
