import type { Config } from '../config/schema.ts';
import type { Estimate, EstimateRequest, RawEstimate } from '../mempool/fees/fee-estimator.ts';
import type { MinedBlock } from '../mempool/fees/mempool-policy.ts';
import type { PackageResult } from '../mempool/result.ts';
import type { BroadcastLimits, BroadcastResult, Prioritised } from '../mempool/service.ts';
import type { NodeAction } from '../port/node-actions.ts';
import type { NodeCounters, NodeNews, NodeStatus, PeerChange, PeerView } from '../port/node-port.ts';

/** What the front may ask of the node thread: name, arguments, answer. */
export interface NodeCommands {
  echo: { args: []; result: null };
  peers: { args: []; result: readonly PeerView[] };
  submitBlock: { args: [raw: Uint8Array]; result: string | null };
  broadcast: { args: [raw: Uint8Array, limits: BroadcastLimits]; result: BroadcastResult };
  testTransactions: { args: [raws: readonly Uint8Array[]]; result: PackageResult };
  submitPackage: { args: [raws: readonly Uint8Array[], limits: BroadcastLimits]; result: PackageResult };
  prioritise: { args: [txid: Uint8Array, delta: number]; result: boolean };
  prioritised: { args: []; result: readonly Prioritised[] };
  saveMempool: { args: []; result: string };
  estimateFee: { args: [question: EstimateRequest]; result: Estimate };
  estimateRawFee: { args: [target: number, threshold: number]; result: readonly RawEstimate[] };
  act: { args: [name: NodeAction, args: readonly unknown[]]; result: unknown };
  mempoolCoverage: { args: []; result: readonly MinedBlock[] };
}

export type NodeCommand = keyof NodeCommands;

/** From the front to the node thread. `open` comes first, `close` last. */
export type ToNode =
  | { readonly type: 'open'; readonly config: Config }
  | { readonly type: 'close' }
  /** So much more of the news is taken in, as `changeBytes` counts. */
  | { readonly type: 'tookIn'; readonly bytes: number }
  /** The client of a call has left: what it asked for may be given up. */
  | { readonly type: 'cancel'; readonly id: number }
  | { readonly type: 'call'; readonly id: number; readonly name: NodeCommand; readonly args: readonly unknown[] };

/** From the node thread to the front. */
export type FromNode =
  | { readonly type: 'opened'; readonly status: NodeStatus }
  /** A part failed for good; `operator` tells whether the message alone is for the operator. */
  | { readonly type: 'failed'; readonly message: string; readonly operator: boolean }
  | { readonly type: 'closed' }
  | { readonly type: 'status'; readonly status: NodeStatus; readonly counters: NodeCounters }
  | { readonly type: 'peer'; readonly change: PeerChange }
  /** Readers see what it tells of already. */
  | { readonly type: 'news'; readonly news: NodeNews; readonly status: NodeStatus | null }
  | { readonly type: 'reply'; readonly id: number; readonly result?: unknown; readonly error?: string };
