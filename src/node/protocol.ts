import type { Config } from '../config/schema.ts';
import type { NodeCallName } from '../port/node-calls.ts';
import type { NodeCounters, NodeStatus, NodeUpdate, PeerChange } from '../port/node-port.ts';

/** From the front to the node thread. `open` comes first, `close` last. */
export type ToNode =
  | { readonly type: 'open'; readonly config: Config }
  | { readonly type: 'close' }
  /** Updates of so many bytes are applied, as `changeBytes` counts. */
  | { readonly type: 'acknowledge'; readonly bytes: number }
  /** The client of a call has left: what it asked for may be given up. */
  | { readonly type: 'cancel'; readonly id: number }
  | { readonly type: 'call'; readonly id: number; readonly name: NodeCallName; readonly args: readonly unknown[] };

/** From the node thread to the front. */
export type FromNode =
  | { readonly type: 'opened'; readonly status: NodeStatus }
  /** A part failed for good; `operator` tells whether the message alone is for the operator. */
  | { readonly type: 'failed'; readonly message: string; readonly operator: boolean }
  | { readonly type: 'closed' }
  | { readonly type: 'status'; readonly status: NodeStatus; readonly counters: NodeCounters }
  | { readonly type: 'peer'; readonly change: PeerChange }
  /** Readers see what it tells of already. */
  | { readonly type: 'update'; readonly update: NodeUpdate; readonly status: NodeStatus | null }
  | { readonly type: 'reply'; readonly id: number; readonly result?: unknown; readonly error?: string };
