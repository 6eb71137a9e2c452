import type { ChainTipStatus } from '../chain/header-tree.ts';
import type { PackageResult } from '../mempool/accept-result.ts';
import type { BroadcastLimits, BroadcastResult } from '../mempool/client-submissions.ts';
import type { Estimate, EstimateRequest, RawEstimate } from '../mempool/fees/fee-estimator.ts';
import type { BlockOverlap } from '../mempool/fees/mempool-policy.ts';
import type { ProjectedBlock } from '../mempool/fees/projected-blocks.ts';
import type { MempoolImportOptions } from '../mempool/mempool-import.ts';
import type { Prioritised } from '../mempool/service.ts';
import type { BackupReport } from '../storage/backup/create-backup.ts';
import type { BuiltRun } from '../storage/runs/run-builder.ts';
import type { SampledSeries, SampleRequest } from '../storage/sample-store.ts';
import type { CategoryLevels } from '../util/log-levels.ts';
import type { PeerView } from './peer-view.ts';
import type { Refusal } from './refusal.ts';
import type { WalletCalls } from './wallet-node-calls.ts';

/** The end of a branch; hash in display order. */
interface ChainTipView {
  readonly height: number;
  readonly hash: string;
  readonly branchLength: number;
  readonly status: ChainTipStatus;
}

/** Calls of the thread itself. */
interface ThreadCalls {
  /** Resolves when the node thread has answered, which shows that it is alive. */
  echo: { args: []; result: null };
  /** Returns means of the samples of the state of the node. */
  sampledSeries: { args: [request: SampleRequest]; result: SampledSeries };
}

/** The calls that concern the chain. Hashes are passed in wire order and returned in display order. */
export interface ChainCalls {
  /** Returns null when the block was accepted, else the reject reason as in BIP-22. */
  submitBlock: { args: [raw: Uint8Array]; result: string | null | Refusal };
  chainTips: { args: []; result: readonly ChainTipView[] };
  /** Resolves when the index of coin statistics has reached the present tip, unless that takes longer than a moment. */
  coinStatsCaughtUp: { args: []; result: null };
  /** Bytes of the two coin caches: the pages of the database, and the table in front of it. */
  coinCaches: { args: []; result: { readonly database: number; readonly table: number; readonly background: number } };
  /** Sets the levels of the log on the node thread and on the other fronts. */
  setLogLevels: { args: [levels: CategoryLevels, areConfigured: boolean]; result: null };
  /**
   * Removes the block files up to a height, or up to a UNIX time if it is above a billion. Returns the height of the last
   * pruned block, -1 without one; null if pruning is off.
   */
  pruneBlocks: { args: [height: number]; result: number | null | Refusal };
  invalidateBlock: { args: [hash: Uint8Array]; result: null | Refusal };
  reconsiderBlock: { args: [hash: Uint8Array]; result: null | Refusal };
  preciousBlock: { args: [hash: Uint8Array]; result: null | Refusal };
}

/** A UTXO set that was read from a file, and its run. */
interface LoadedUtxoSetView {
  readonly baseHash: Uint8Array;
  readonly runId: number;
  readonly run: BuiltRun;
  /** The set's hash_serialized_3, wire order. */
  readonly hash: Uint8Array;
  /** Value of all coins, satoshis. */
  readonly value: number;
  readonly coins: number;
}

/** The calls of loadtxoutset. */
export interface UtxoSetCalls {
  /** Checks whether the UTXO set of a block may be loaded, and reserves the id of its run. */
  beginUtxoSet: {
    args: [baseHash: Uint8Array];
    result: { readonly baseHeight: number; readonly runId: number } | Refusal;
  };
  /** Makes the set that of the active chain if its hash is the expected one. */
  activateUtxoSet: { args: [set: LoadedUtxoSetView]; result: null | Refusal };
}

/** The calls that concern the data directory. */
export interface BackupCalls {
  /** Writes a backup to a directory, or continues an interrupted one. The rate 0 sets no limit. */
  backupNode: {
    args: [options: { readonly target: string; readonly withChain: boolean; readonly mebibytesPerSecond: number }];
    result: BackupReport | Refusal;
  };
}

/** The calls that concern the mempool. */
export interface MempoolCalls {
  /** Submits a transaction, which must parse. */
  broadcast: { args: [raw: Uint8Array, limits: BroadcastLimits]; result: BroadcastResult };
  /** Returns whether transactions would be accepted; later ones may spend earlier ones. They must parse. */
  testTransactions: { args: [raws: readonly Uint8Array[]]; result: PackageResult };
  /** Submits a child with its parents. They must parse. */
  submitPackage: { args: [raws: readonly Uint8Array[], limits: BroadcastLimits]; result: PackageResult };
  /**
   * Treats a transaction as if its fee were higher by `delta` satoshis; false where it has dust outputs, which forbid
   * it.
   */
  prioritise: { args: [txid: Uint8Array, delta: number]; result: boolean };
  prioritised: { args: []; result: readonly Prioritised[] };
  /** Returns the name of the file. */
  saveMempool: { args: []; result: string };
  estimateFee: { args: [question: EstimateRequest]; result: Estimate };
  /** Estimates by horizon, with the ranges of feerates behind them. */
  estimateRawFee: { args: [target: number, threshold: number]; result: readonly RawEstimate[] };
  /** Returns the blocks that decide whether the estimates from the mempool are reliable. */
  mempoolCoverage: { args: []; result: readonly BlockOverlap[] };
  /** Returns the next blocks as they would be mined from the mempool, at most a second old. */
  projectedBlocks: { args: []; result: readonly ProjectedBlock[] };
  /** Imports a `mempool.dat` of Bitcoin Core from one of the directories for it. */
  importMempool: { args: [file: string, options: MempoolImportOptions]; result: null | Refusal };
}

/** A deployment that miners signal for, with its state at the next block. */
export interface DeploymentView {
  readonly name: string;
  readonly bit: number;
  readonly state: 'started' | 'locked_in' | 'active';
}

/** The parts of a block template. Hashes are in display order, amounts in satoshis. */
export interface TemplateView {
  readonly id: number;
  readonly height: number;
  readonly previousHash: string;
  readonly version: number;
  readonly time: number;
  readonly minTime: number;
  readonly bits: number;
  readonly coinbaseValue: number;
  readonly commitment: Uint8Array;
  readonly deployments: readonly DeploymentView[];
  /** Number of mempool changes when the template was made. */
  readonly changes: number;
  /** The `transactions` of BIP-22 and BIP-145 as JSON bytes; null where the caller has this template. */
  readonly transactions: Uint8Array | null;
}

/** The calls for miners. */
export interface MiningCalls {
  /** Mines blocks to a script; fewer than `count` where `maxtries` is reached. */
  generate: {
    args: [script: Uint8Array, count: number, maxTries: number];
    result: { readonly hashes: readonly string[]; readonly triesLeft: number } | Refusal;
  };
  /** Mines a block of the given txids of the mempool or encoded transactions. */
  generateBlock: {
    args: [script: Uint8Array, txs: readonly (string | Uint8Array)[], submit: boolean];
    result: { readonly hash: string; readonly raw: Uint8Array } | Refusal;
  };
  /** `known` is the number of the template that the caller has. */
  blockTemplate: { args: [known: number | null]; result: TemplateView };
  /** Returns the reject reason of a block without proof of work, as in BIP-22; null where it is valid. */
  proposeBlock: { args: [raw: Uint8Array]; result: string | null | Refusal };
  /** Submits the 80 bytes of a header. */
  submitHeader: { args: [raw: Uint8Array]; result: null | Refusal };
  /** Returns a number that grows with each change of the mempool. */
  mempoolChanges: { args: []; result: number };
  /** The last assembled block: its weight, and its number of transactions without the coinbase. */
  lastAssembled: { args: []; result: { readonly weight: number; readonly txs: number } | null };
  /** Stops the clock of a regtest node at a time in Unix seconds; 0 starts it again. */
  setMockTime: { args: [seconds: number]; result: null };
}

/** Known addresses of one network. */
interface AddressCounts {
  readonly network: string;
  readonly new: number;
  readonly tried: number;
}

interface BanView {
  readonly subnet: string;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly until: number;
}

/** Types of connections that tests open (Core's `addconnection`). */
export type TestConnectionType = 'outbound-full-relay' | 'block-relay-only' | 'addr-fetch' | 'feeler';

/** An address in a table of the address manager. */
export interface AddressEntryView {
  /** Bucket and position in it, such as `12/3`. */
  readonly place: string;
  readonly address: string;
  readonly port: number;
  readonly network: string;
  readonly services: bigint;
  /** Unix seconds. */
  readonly time: number;
  /** The peer that announced it. */
  readonly source: string;
  readonly sourceNetwork: string;
  /** Numbers of the autonomous systems of both; 0 where they are unknown. */
  readonly mappedAs: number;
  readonly sourceMappedAs: number;
}

/** A transaction whose parents are missing, and the peers that announced it. */
export interface OrphanView {
  readonly raw: Uint8Array;
  readonly peers: readonly number[];
}

/** A transaction that is broadcast privately. Times are Unix milliseconds. */
export interface PrivateBroadcastView {
  readonly raw: Uint8Array;
  readonly addedAt: number;
  readonly attemptsLeft: number;
  readonly attempts: readonly {
    readonly address: string;
    readonly sentAt: number;
    readonly receivedAt: number | null;
  }[];
}

/** The announcements of transactions to the peers of one direction. */
interface AnnouncementView {
  /** Number of transactions that wait. */
  readonly backlog: number;
  /** Transactions and bytes that may be announced now. */
  readonly countTokens: number;
  readonly byteTokens: number;
}

export interface NetworkView {
  readonly active: boolean;
  /** Whether transactions of peers are accepted. */
  readonly relaysTransactions: boolean;
  /** Peers that have completed the handshake, counted now: the periodic status may be a second old. */
  readonly peers: { readonly inbound: number; readonly outbound: number };
  /** 16 hex digits. */
  readonly services: string;
  readonly serviceNames: readonly string[];
  /** Median offset of the clocks of outbound peers to ours, in seconds. */
  readonly timeOffset: number;
  /** Transactions per second that are announced to inbound peers. */
  readonly sendRate: number;
  /** Null where no peers are connected to. */
  readonly announcements: { readonly inbound: AnnouncementView; readonly outbound: AnnouncementView } | null;
  readonly networks: readonly {
    readonly name: string;
    readonly reachable: boolean;
    /** `host:port` or `unix:/path`; empty for none. */
    readonly proxy: string;
    readonly randomizesCredentials: boolean;
  }[];
  readonly localAddresses: readonly { readonly address: string; readonly port: number; readonly score: number }[];
}

interface TrafficView {
  /** Bytes since the start. */
  readonly received: number;
  readonly sent: number;
  /** Unix milliseconds. */
  readonly now: number;
  /** Bytes per day, 0 for no limit; and the remaining bytes and seconds. */
  readonly target: number;
  readonly targetReached: boolean;
  readonly servesHistory: boolean;
  readonly bytesLeft: number;
  readonly secondsLeft: number;
}

/** The calls that concern connections. All of them are refused where the peer network is disabled. */
export interface NetworkCalls {
  /** Returns the peers; none where the peer network is disabled. */
  peers: { args: []; result: readonly PeerView[] };
  network: { args: []; result: NetworkView };
  traffic: { args: []; result: TrafficView };
  addNode: { args: [text: string, command: 'add' | 'remove' | 'onetry', v2: boolean | null]; result: null | Refusal };
  addedNodes: {
    args: [];
    result:
      | readonly { readonly text: string; readonly connected: { address: string; inbound: boolean } | null }[]
      | Refusal;
  };
  /** By id, or by address. */
  disconnectPeer: { args: [which: number | string]; result: null | Refusal };
  /** For a number of seconds, or until a time; 0 for the configured duration. */
  ban: { args: [subnet: string, time: number, absolute: boolean]; result: null | Refusal };
  unban: { args: [subnet: string]; result: null | Refusal };
  bans: { args: []; result: readonly BanView[] | Refusal };
  clearBans: { args: []; result: null | Refusal };
  knownAddresses: {
    args: [count: number, network: string | null];
    result:
      | readonly {
          readonly time: number;
          readonly services: bigint;
          readonly address: string;
          readonly port: number;
          readonly network: string;
        }[]
      | Refusal;
  };
  addressCounts: { args: []; result: readonly AddressCounts[] | Refusal };
  pingPeers: { args: []; result: null | Refusal };
  /** Sets the limit of the bytes that are sent to peers in a day, MiB; 0 sets none. */
  setUploadTarget: { args: [mebibytesPerDay: number]; result: null };
  setNetworkActive: { args: [active: boolean]; result: boolean | Refusal };
  /** Opens an outbound connection of a type; the result comes when it is open or has failed. For tests. */
  addConnection: { args: [text: string, type: TestConnectionType, v2: boolean]; result: null | Refusal };
  /** Adds an address that announced itself, and marks it as reached where `tried` is true. For tests. */
  addPeerAddress: {
    args: [address: string, port: number, tried: boolean];
    result: 'failed-adding-to-new' | 'failed-adding-to-tried' | null | Refusal;
  };
  /** Returns the entries of both address tables, with positions as Core prints them. */
  addressTables: {
    args: [];
    result: { readonly new: readonly AddressEntryView[]; readonly tried: readonly AddressEntryView[] } | Refusal;
  };
  /** Sends a message with any payload to a peer. For tests. */
  sendMessage: { args: [peer: number, type: string, payload: Uint8Array]; result: null | Refusal };
  /** Returns the transactions whose parents are missing. */
  orphans: { args: []; result: readonly OrphanView[] | Refusal };
  /** Moves the timer that announces submitted transactions again forward. For tests. */
  advanceTimers: { args: [seconds: number]; result: null };
  /** Requests a block whose header is known from one peer. Hash in wire order. */
  /** Returns the transactions that are broadcast privately. */
  privateBroadcasts: { args: []; result: readonly PrivateBroadcastView[] | Refusal };
  /** Ends the private broadcast of transactions with a txid or wtxid, and returns their bytes. */
  abortPrivateBroadcast: { args: [id: Uint8Array]; result: readonly Uint8Array[] | Refusal };
  fetchBlock: { args: [hash: Uint8Array, peer: number]; result: null | Refusal };
}

/** The blocks of a reorg; hashes in display order, lowest block first. */
interface ReorgView {
  readonly forkHeight: number;
  readonly disconnected: readonly string[];
  readonly connected: readonly string[];
}

/** The scenarios of developer mode; refused without it. Amounts in satoshis. */
export interface ScenarioCalls {
  scenarioPay: { args: [script: Uint8Array, amount: bigint]; result: string | Refusal };
  scenarioReorg: { args: [depth: number, reconfirm: boolean]; result: ReorgView | Refusal };
  /** `script` null pays the sandbox itself. */
  scenarioDoubleSpend: {
    args: [script: Uint8Array | null, amount: bigint, depth: number];
    result:
      | {
          readonly txid: string;
          readonly conflict: string;
          readonly blockHash: string | null;
          readonly reorg: ReorgView | null;
        }
      | Refusal;
  };
  scenarioFlood: { args: [count: number, script: Uint8Array | null]; result: readonly string[] | Refusal };
}

/** Everything that the main thread asks of the node thread: name, arguments, result. */
export interface NodeCalls
  extends ThreadCalls,
    ChainCalls,
    UtxoSetCalls,
    BackupCalls,
    MempoolCalls,
    MiningCalls,
    NetworkCalls,
    ScenarioCalls,
    WalletCalls {}

export type NodeCallName = keyof NodeCalls;
export type CallArgs<N extends NodeCallName> = NodeCalls[N]['args'];
export type CallResult<N extends NodeCallName> = NodeCalls[N]['result'];

/** The functions that run calls. The signal aborts when the client disconnects or the node stops. */
export type CallTable<A> = {
  readonly [N in keyof A]: A[N] extends { args: infer P extends unknown[]; result: infer R }
    ? (...args: [...P, signal: AbortSignal]) => R | Promise<R>
    : never;
};
