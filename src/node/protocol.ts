import type { NodeStatus, PeerView } from '../api/node-port.ts';
import type { Config } from '../config/schema.ts';

/** What the front may ask of the node thread: name, arguments, answer. */
export interface NodeCommands {
  echo: { args: []; result: null };
  peers: { args: []; result: readonly PeerView[] };
  submitBlock: { args: [raw: Uint8Array]; result: string | null };
}

export type NodeCommand = keyof NodeCommands;

/** From the front to the node thread. `open` comes first, `close` last. */
export type ToNode =
  | { readonly type: 'open'; readonly config: Config }
  | { readonly type: 'close' }
  | { readonly type: 'call'; readonly id: number; readonly name: NodeCommand; readonly args: readonly unknown[] };

/** From the node thread to the front. */
export type FromNode =
  | { readonly type: 'opened'; readonly status: NodeStatus }
  /** A part failed for good; `operator` tells whether the message alone is for the operator. */
  | { readonly type: 'failed'; readonly message: string; readonly operator: boolean }
  | { readonly type: 'closed' }
  | { readonly type: 'status'; readonly status: NodeStatus }
  /** After a commit: readers see it already. */
  | { readonly type: 'commit'; readonly lastSeq: number; readonly status: NodeStatus }
  | { readonly type: 'reply'; readonly id: number; readonly result?: unknown; readonly error?: string };
