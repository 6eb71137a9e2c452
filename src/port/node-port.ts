import type { MempoolChange } from '../mempool/changes.ts';
import type { Estimate, EstimateRequest, RawEstimate } from '../mempool/fees/fee-estimator.ts';
import type { MinedBlock } from '../mempool/fees/mempool-policy.ts';
import type { PackageResult } from '../mempool/result.ts';
import type { BroadcastLimits, BroadcastResult, Prioritised } from '../mempool/service.ts';
import type { DurationTotals } from '../util/duration-counts.ts';
import type { WalletState } from '../wallet/wallet-state.ts';
import type { ActionArgs, ActionResult, NodeAction } from './node-actions.ts';

/**
 * What the node does to follow the network.
 *
 * - `waiting`: has nothing to do, and the tip is old: no peer is there, or none has a better chain
 * - `presync`: looks at headers whose work is not proven, and keeps none of them yet
 * - `headers`: fetches headers
 * - `blocks`: fetches and checks blocks
 * - `following`: has all blocks that it knows of, and takes new ones as they come
 */
export type SyncPhase = 'waiting' | 'presync' | 'headers' | 'blocks' | 'following';

export interface SyncState {
  readonly phase: SyncPhase;
  /** Height that headers of unproven work were looked at to; null in all other phases. */
  readonly presynced: number | null;
  /** Estimated part of the headers that is there, 0 to 1. */
  readonly headersProgress: number;
  /** A peer has shown its chain, and that is no better than ours. */
  readonly confirmed: boolean;
}

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
  readonly sync: SyncState;
  /** Of the network of peers; null where the configuration wants none. */
  readonly network: {
    /** It is dialled and listened: neither before it has begun, nor while it is switched off. */
    readonly active: boolean;
    /** Median of what the clocks of outbound peers are ahead of ours, in seconds. */
    readonly timeOffset: number;
  } | null;
  /** An invalid chain has the work of more than six blocks beyond the tip. */
  readonly heavierInvalidChain: boolean;
  /** Version bits of active rules that this node does not know. */
  readonly unknownRules: readonly number[];
  /** Sentences for the operator, `warnings` of getblockchaininfo. */
  readonly warnings: readonly string[];
  /** Loaded wallets, in the order in which they were loaded; absent where there are to be none. */
  readonly wallets?: readonly WalletState[];
  /** Names of wallets that were to be loaded and could not be. */
  readonly walletsFailed?: readonly string[];
  /** Names of those among them whose files were not there. */
  readonly walletsMissing?: readonly string[];
}

/** One connected peer, as `GET /api/peers` shows it. Times are Unix seconds, 0 for never; heights -1 where they are not known. */
export interface PeerView {
  readonly id: number;
  /** As it was dialled, or address and port. */
  readonly address: string;
  readonly network: string;
  readonly inbound: boolean;
  readonly connectionType: string;
  readonly transport: 'detecting' | 'v1' | 'v2';
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
  readonly details: PeerDetails;
}

/** What an operator may want to know of a peer beyond that. */
interface PeerDetails {
  /** The handshake is over. */
  readonly established: boolean;
  /** Our end of the connection, and the address under which the peer sees us. */
  readonly addressBind: string | null;
  readonly addressLocal: string | null;
  /** BIP-324, hex; empty with v1. */
  readonly sessionId: string;
  /** When it last brought a transaction, or a block, that was new. */
  readonly lastTransaction: number;
  readonly lastBlock: number;
  readonly bytesSentByType: Readonly<Record<string, number>>;
  readonly bytesRecvByType: Readonly<Record<string, number>>;
  /** How long an answer has been waited for. */
  readonly pingWaitMs: number | null;
  /** How far its headers were looked at whose work is not proven. */
  readonly presyncedHeaders: number;
  /** Heights of blocks it was asked for. */
  readonly inFlight: readonly number[];
  readonly lastInvSequence: number;
  readonly invToSend: number;
  /** We chose it to send us compact blocks unasked; and it us. */
  readonly compactBlocksTo: boolean;
  readonly compactBlocksFrom: boolean;
  readonly addrRelay: boolean;
  readonly addrProcessed: number;
  readonly addrRateLimited: number;
}

/** What the node thread has counted since the start. */
export interface NodeCounters {
  /** By stage: parse, check, connect, wait. */
  readonly stages: Readonly<Record<string, DurationTotals>>;
  /** Commits of chain.db. */
  readonly commits: DurationTotals;
  /** Events that chain.db holds. */
  readonly eventRows: number;
  /** Null where the configuration wants no peers. */
  readonly p2p: P2pCounters | null;
}

/** All keys are from lists that do not grow. */
export interface P2pCounters {
  /** Peers whose handshake is over, by network. */
  readonly inbound: Readonly<Record<string, number>>;
  readonly outbound: Readonly<Record<string, number>>;
  readonly bytesSent: number;
  readonly bytesReceived: number;
  /** By type. */
  readonly messagesSent: Readonly<Record<string, number>>;
  readonly messagesReceived: Readonly<Record<string, number>>;
  /** By reason. */
  readonly disconnects: Readonly<Record<string, number>>;
  readonly bans: number;
  /** Transactions of peers that were refused, by class. */
  readonly rejected: Readonly<Record<string, number>>;
}

/** A peer whose handshake is over has come or gone. */
export interface PeerChange {
  readonly kind: 'connected' | 'disconnected';
  /** Unix seconds. */
  readonly time: number;
  readonly peer: PeerView;
  /** Why it is gone; null where it has come. */
  readonly reason: string | null;
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
  /** As they were about a second ago; null before they are first told. */
  counters(): NodeCounters | null;
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
  estimateFee(question: EstimateRequest): Promise<Estimate>;
  /** By horizon, with the ranges of feerates it goes by. */
  estimateRawFee(target: number, threshold: number): Promise<readonly RawEstimate[]>;
  /** The blocks by which the mempool's estimates are trusted, or not. */
  mempoolCoverage(): Promise<readonly MinedBlock[]>;
  /** Does what only the node thread can do; what it refuses comes back as a Refusal. */
  act<N extends NodeAction>(name: N, ...args: ActionArgs<N>): Promise<ActionResult<N>>;
  /** The same for what may take long: where the signal aborts, the node gives it up, and this rejects with its reason. */
  actUntil<N extends NodeAction>(signal: AbortSignal, name: N, ...args: ActionArgs<N>): Promise<ActionResult<N>>;
  /** Called with everything that happens, when readers of the chain already see it. Returns the function that ends it. */
  onNews(listener: (news: NodeNews) => void): () => void;
  /** So much more of the news is taken in, as `changeBytes` counts: until then the node holds back what can wait. */
  tookIn(bytes: number): void;
  /** Called when a peer has come or gone. Returns the function that ends it. */
  onPeerChange(listener: (change: PeerChange) => void): () => void;
}
