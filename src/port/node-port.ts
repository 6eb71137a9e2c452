import type { MempoolChange } from '../mempool/changes.ts';
import type { DurationTotals } from '../util/duration-counts.ts';
import type { WalletState } from '../wallet/wallet-state.ts';
import type { CallArgs, CallResult, NodeCallName } from './node-calls.ts';
import type { PeerView } from './peer-view.ts';

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
export interface NodeUpdate {
  readonly changes: readonly MempoolChange[];
  readonly commit: {
    /** Number of the newest event of the chain. */
    readonly lastSeq: number;
    /** Display order. */
    readonly tip: { readonly height: number; readonly hash: string };
  } | null;
}

/**
 * The node as the main thread reaches it: across a thread boundary in the running program, directly in tests. Everything
 * that can be asked of the node thread is a row of `NodeCalls`.
 */
export interface NodePort {
  status(): NodeStatus;
  /** The counters of about a second ago; null before the first arrived. */
  counters(): NodeCounters | null;
  /** Makes a call on the node thread. A call that the node refuses returns a Refusal. */
  call<N extends NodeCallName>(name: N, ...args: CallArgs<N>): Promise<CallResult<N>>;
  /** Makes a call that may take long: when the signal aborts, the node ends it, and this rejects with the reason. */
  callUntil<N extends NodeCallName>(signal: AbortSignal, name: N, ...args: CallArgs<N>): Promise<CallResult<N>>;
  /** Calls the listener with every update once readers of the chain see it. Returns a function that unsubscribes it. */
  onUpdate(listener: (update: NodeUpdate) => void): () => void;
  /** Acknowledges updates of so many bytes, as `changeBytes` counts: until then the node delays what can wait. */
  acknowledge(bytes: number): void;
  /** Calls the listener when a peer has connected or disconnected. Returns a function that unsubscribes it. */
  onPeerChange(listener: (change: PeerChange) => void): () => void;
}
