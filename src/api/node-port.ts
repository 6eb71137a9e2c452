import type { MempoolChange } from '../mempool/changes.ts';
import type { Estimate, EstimateQuestion, RawEstimate } from '../mempool/fees/fee-estimator.ts';
import type { MinedBlock } from '../mempool/fees/mempool-policy.ts';
import type { PackageResult } from '../mempool/result.ts';
import type { BroadcastLimits, BroadcastResult, Prioritised } from '../mempool/service.ts';

/** What the node last told about itself; pushed by it, so that reading it never waits. */
export interface NodeStatus {
  /** Height and hash of the best validated header. */
  readonly headers: number;
  readonly bestHeaderHash: string;
  readonly initialBlockDownload: boolean;
  /** 0 to 1. */
  readonly verificationProgress: number;
  /** `at` in Unix milliseconds. */
  readonly lastCommit: { readonly ok: boolean; readonly at: number; readonly durationMs: number } | null;
  /** A block is being connected at this moment, so an echo may be late. */
  readonly connectingBlock: boolean;
  /** Why block processing has stopped by an internal error, or null. For the log and the operator, not for clients. */
  readonly stopped: string | null;
  /** What the node does first before it is of use, or null: the sandbox mines its first blocks. */
  readonly preparing: string | null;
  /** Connected peers. Counted here, so that what shows no more than that does not wait for the node thread. */
  readonly peers: { readonly inbound: number; readonly outbound: number };
  /** A chain with more work than ours was found invalid. */
  readonly heavierInvalidChain: boolean;
  readonly warnings: readonly string[];
}

/** One connected peer, as `GET /api/peers` shows it. */
export interface PeerView {
  readonly id: number;
  readonly address: string;
  readonly network: string;
  readonly inbound: boolean;
  readonly connectionType: string;
  readonly transport: 'v1' | 'v2';
  /** 16 hex digits. */
  readonly services: string;
  readonly servicesNames: readonly string[];
  readonly version: number;
  readonly userAgent: string;
  readonly connectedAt: number;
  readonly lastSend: number;
  readonly lastRecv: number;
  readonly bytesSent: number;
  readonly bytesRecv: number;
  readonly pingMs: number | null;
  readonly minPingMs: number | null;
  readonly timeOffset: number;
  readonly startingHeight: number;
  readonly syncedHeaders: number;
  readonly syncedBlocks: number;
  readonly relayTxs: boolean;
  /** sat/vB. */
  readonly minFeeFilter: number;
  readonly permissions: readonly string[];
}

/** What the node tells, in order: steps of the mempool, and at their end a commit that they belong to. */
export interface NodeNews {
  readonly changes: readonly MempoolChange[];
  readonly commit: {
    /** Number of the newest event of the chain. */
    readonly lastSeq: number;
    /** Display order. */
    readonly tip: { readonly height: number; readonly hash: string };
  } | null;
}

/** How the API reaches the node: through a worker's port in the running program, directly in tests. */
export interface NodePort {
  status(): NodeStatus;
  /** Resolves when the node thread has answered; shows that it is alive. */
  echo(): Promise<void>;
  peers(): Promise<readonly PeerView[]>;
  /** null when the block was accepted, else the reason as BIP-22 spells it. */
  submitBlock(raw: Uint8Array): Promise<string | null>;
  /** Hands in a transaction. It must parse. */
  broadcast(raw: Uint8Array, limits: BroadcastLimits): Promise<BroadcastResult>;
  /** Whether transactions would be taken; later ones may spend earlier ones. They must parse. */
  testTransactions(raws: readonly Uint8Array[]): Promise<PackageResult>;
  /** Hands in a child with its parents. They must parse. */
  submitPackage(raws: readonly Uint8Array[], limits: BroadcastLimits): Promise<PackageResult>;
  /** Treats a transaction as if it paid so many satoshis more; false where it has dust and may not. */
  prioritise(txid: Uint8Array, delta: number): Promise<boolean>;
  prioritised(): Promise<readonly Prioritised[]>;
  /** The name of the file. */
  saveMempool(): Promise<string>;
  estimateFee(question: EstimateQuestion): Promise<Estimate>;
  /** By horizon, with the ranges of feerates it goes by. */
  estimateRawFee(target: number, threshold: number): Promise<readonly RawEstimate[]>;
  /** The blocks by which the mempool's estimates are trusted, or not. */
  mempoolCoverage(): Promise<readonly MinedBlock[]>;
  /** Called with everything that happens, when readers of the chain already see it. Returns the function that ends it. */
  onNews(listener: (news: NodeNews) => void): () => void;
}
