import type { SentChange } from '../mempool/changes.ts';
import type { SharedEntries } from '../mempool/entries.ts';
import type { DurationTotals } from '../util/duration-counts.ts';
import type { LockFailures } from '../util/lock-failures.ts';
import type { WalletState } from '../wallet/wallet-state.ts';
import type { CallArgs, CallResult, NodeCallName } from './node-calls.ts';
import type { PeerView } from './peer-view.ts';
import type { SinkStatus } from './sink-status.ts';

/**
 * The phase of the sync.
 *
 * - `waiting`: the tip is old, and no peer offers a better chain
 * - `presync`: downloads headers whose work is not proven yet, and stores none of them
 * - `headers`: downloads headers
 * - `blocks`: downloads and validates blocks
 * - `following`: has all known blocks, and validates new ones as they arrive
 */
export type SyncPhase = 'waiting' | 'presync' | 'headers' | 'blocks' | 'following';

export interface SyncState {
  readonly phase: SyncPhase;
  /** Height of the last header in presync; null in all other phases. */
  readonly presynced: number | null;
  /** Estimated share of the headers that is known, 0 to 1. */
  readonly headersProgress: number;
  /** Whether a peer has shown a chain that has no more work than ours. */
  readonly confirmed: boolean;
}

/** The validation behind a loaded UTXO set. */
export interface BackgroundStatus {
  readonly baseHeight: number;
  readonly baseHash: string;
  /** Whether the set was found to be that of the validated chain. */
  readonly validated: boolean;
  /** The last validated block. */
  readonly height: number;
  readonly hash: string;
  readonly bits: number;
  /** Unix seconds. */
  readonly medianTime: number;
  readonly chainwork: bigint;
  /** 0 to 1. */
  readonly verificationProgress: number;
}

/** The node's periodic status. The node pushes it, so that reading it never waits. */
export interface NodeStatus {
  /** Height and hash of the best validated header. */
  readonly headers: number;
  readonly bestHeaderHash: string;
  readonly initialBlockDownload: boolean;
  /** 0 to 1. */
  readonly verificationProgress: number;
  /** `at` in Unix milliseconds. */
  readonly lastCommit: { readonly ok: boolean; readonly at: number; readonly durationMs: number } | null;
  /** Whether a block is being connected, so that an echo may be late. */
  readonly connectingBlock: boolean;
  /** The internal error that stopped block processing, or null. For the log and the operator, not for clients. */
  readonly stopped: string | null;
  /** The chain that is validated behind a loaded UTXO set; null without one. Hashes are in display order. */
  readonly background: BackgroundStatus | null;
  /** The indexes whose background build has stopped, and the cause with its remedy; null while none has. */
  readonly indexProblem: { readonly indexes: readonly string[]; readonly problem: string } | null;
  /** The task that delays readiness, or null: the sandbox mines its first blocks. */
  readonly preparing: string | null;
  /** Number of connected peers, so that simple queries need no call to the node thread. */
  readonly peers: { readonly inbound: number; readonly outbound: number };
  readonly sync: SyncState;
  /** The peer network; null where the configuration disables it. */
  readonly network: {
    /** Whether the node dials and listens. */
    readonly active: boolean;
    /** Median offset of the clocks of outbound peers to ours, in seconds. */
    readonly timeOffset: number;
  } | null;
  /** An invalid chain has the work of more than six blocks beyond the tip. */
  readonly heavierInvalidChain: boolean;
  /** Version bits of active rules that this node does not know. */
  readonly unknownRules: readonly number[];
  /** The database that follows the chain; absent where the configuration names none. */
  readonly sink?: SinkStatus;
  /** Sentences for the operator, `warnings` of getblockchaininfo. */
  readonly warnings: readonly string[];
  /** Loaded wallets in the order of loading; absent where wallets are disabled. */
  readonly wallets?: readonly WalletState[];
  /** Names of configured wallets that could not be loaded. */
  readonly walletsFailed?: readonly string[];
  /** Names of those among them whose files are missing. */
  readonly walletsMissing?: readonly string[];
  /** Names of wallets that open when the chain behind the loaded UTXO set is validated. */
  readonly walletsWaiting?: readonly string[];
}

/** Counters of the node thread since the start. */
export interface NodeCounters {
  /** The library that verifies signatures. */
  readonly signatures: { readonly kind: 'system' | 'addon' | 'noble'; readonly library: string };
  /** By stage: parse, check, connect, wait. */
  readonly stages: Readonly<Record<string, DurationTotals>>;
  /** Commits of chain.db. */
  readonly commits: DurationTotals;
  /** Statements that failed at the lock of a database. */
  readonly lockFailures: LockFailures;
  /** Events that chain.db holds. */
  readonly eventRows: number;
  /** Runs of coins and indexes, and their bytes, by family. */
  readonly runs: readonly { readonly family: string; readonly runs: number; readonly bytes: number }[];
  /** Null where the configuration disables the peer network. */
  readonly p2p: P2pCounters | null;
}

/** Counters of the peer network. All labels are from bounded lists. */
export interface P2pCounters {
  /** Peers that have completed the handshake, by network. */
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
  /** Rejected transactions of peers, by class. */
  readonly rejected: Readonly<Record<string, number>>;
}

/** A peer has completed the handshake, or disconnected. */
export interface PeerChange {
  readonly kind: 'connected' | 'disconnected';
  /** Unix seconds. */
  readonly time: number;
  readonly peer: PeerView;
  /** The reason of the disconnect; null for a new peer. */
  readonly reason: string | null;
}

/** An update of the node: changes of the mempool in order, then the commit that caused them, if any. */
export interface NodeUpdate {
  readonly changes: readonly SentChange[];
  /** Memory of the mempool that its readers need for these changes; absent where the changes carry the transactions. */
  readonly shared?: SharedEntries | null;
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
  /**
   * Acknowledges updates by their number and their bytes, as `changeBytes` counts them. Until then the node delays work
   * that can wait, and the memory of removed transactions stays readable.
   */
  acknowledge(bytes: number, updates: number): void;
  /** Calls the listener when a peer has connected or disconnected. Returns a function that unsubscribes it. */
  onPeerChange(listener: (change: PeerChange) => void): () => void;
}
