import type { ChainTipStatus } from '../chain/header-tree.ts';
import type { Estimate, EstimateRequest, RawEstimate } from '../mempool/fees/fee-estimator.ts';
import type { MinedBlock } from '../mempool/fees/mempool-policy.ts';
import type { MempoolImportOptions } from '../mempool/mempool-import.ts';
import type { PackageResult } from '../mempool/result.ts';
import type { BroadcastLimits, BroadcastResult, Prioritised } from '../mempool/service.ts';
import type { PeerView } from './peer-view.ts';
import type { Refusal } from './refusal.ts';
import type { WalletCalls } from './wallet-calls.ts';

/** The end of a branch; hash in display order. */
interface ChainTipView {
  readonly height: number;
  readonly hash: string;
  readonly branchLength: number;
  readonly status: ChainTipStatus;
}

/** Calls of the thread itself. */
export interface ThreadCalls {
  /** Resolves when the node thread has answered, which shows that it is alive. */
  echo: { args: []; result: null };
}

/** What only the node thread can do to the chain. Hashes go over in wire order, and come back in display order. */
export interface ChainCalls {
  /** Returns null when the block was accepted, else the reason as BIP-22 spells it. */
  submitBlock: { args: [raw: Uint8Array]; result: string | null };
  chainTips: { args: []; result: readonly ChainTipView[] };
  /** Bytes of memory for coins: of the database's pages, and of the table before it. */
  coinCaches: { args: []; result: { readonly database: number; readonly table: number } };
  /** Has the node thread log debug lines, or not. */
  logDebug: { args: [kept: boolean]; result: null };
  invalidateBlock: { args: [hash: Uint8Array]; result: null | Refusal };
  reconsiderBlock: { args: [hash: Uint8Array]; result: null | Refusal };
  preciousBlock: { args: [hash: Uint8Array]; result: null | Refusal };
}

/** What only the node thread can do to the mempool. */
export interface MempoolCalls {
  /** Submits a transaction, which must parse. */
  broadcast: { args: [raw: Uint8Array, limits: BroadcastLimits]; result: BroadcastResult };
  /** Returns whether transactions would be accepted; later ones may spend earlier ones. They must parse. */
  testTransactions: { args: [raws: readonly Uint8Array[]]; result: PackageResult };
  /** Submits a child with its parents. They must parse. */
  submitPackage: { args: [raws: readonly Uint8Array[], limits: BroadcastLimits]; result: PackageResult };
  /** Treats a transaction as if it paid so many satoshis more; false where it has dust and may not. */
  prioritise: { args: [txid: Uint8Array, delta: number]; result: boolean };
  prioritised: { args: []; result: readonly Prioritised[] };
  /** Returns the name of the file. */
  saveMempool: { args: []; result: string };
  estimateFee: { args: [question: EstimateRequest]; result: Estimate };
  /** Estimates by horizon, with the ranges of feerates behind them. */
  estimateRawFee: { args: [target: number, threshold: number]; result: readonly RawEstimate[] };
  /** Returns the blocks that decide whether the estimates from the mempool are reliable. */
  mempoolCoverage: { args: []; result: readonly MinedBlock[] };
  /** Takes in what a `mempool.dat` of Bitcoin Core holds; its name, in one of the directories for it. */
  importMempool: { args: [file: string, options: MempoolImportOptions]; result: null | Refusal };
}

/** A change that miners signal for, where it stands at the next block. */
export interface DeploymentView {
  readonly name: string;
  readonly bit: number;
  readonly state: 'started' | 'locked_in' | 'active';
}

/** What a miner needs for the next block. Hashes in display order, amounts in satoshis. */
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
  /** Changes of the mempool when it was made. */
  readonly changes: number;
  /** JSON of its transactions, as BIP-22 and BIP-145 have them, in bytes; null where the caller has it already. */
  readonly transactions: Uint8Array | null;
}

/** What only the node thread can do for miners. */
export interface MiningCalls {
  /** Mines blocks to a script; fewer than `count` where the tries do not suffice. */
  generate: {
    args: [script: Uint8Array, count: number, maxTries: number];
    result: { readonly hashes: readonly string[]; readonly triesLeft: number } | Refusal;
  };
  /** Mines a block of these: txids of the mempool, or encoded transactions. */
  generateBlock: {
    args: [script: Uint8Array, txs: readonly (string | Uint8Array)[], submit: boolean];
    result: { readonly hash: string; readonly raw: Uint8Array } | Refusal;
  };
  /** `known` is the number of the template whose transactions the caller has. */
  blockTemplate: { args: [known: number | null]; result: TemplateView };
  /** What is wrong with a block that need not be mined yet, as BIP-22 spells it; null where nothing is. */
  proposeBlock: { args: [raw: Uint8Array]; result: string | null | Refusal };
  /** Takes the 80 bytes of a header. */
  submitHeader: { args: [raw: Uint8Array]; result: null | Refusal };
  /** Grows with the mempool's changes. */
  mempoolChanges: { args: []; result: number };
  /** The block that was put together last: its weight, and its transactions but for the coinbase. */
  lastAssembled: { args: []; result: { readonly weight: number; readonly txs: number } | null };
  /** Stops the clock of a regtest node at a time in Unix seconds; 0 lets it go again. */
  setMockTime: { args: [seconds: number]; result: null };
}

/** What is known of addresses of one network. */
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

export interface NetworkView {
  readonly active: boolean;
  /** Those whose handshake is over, now: the status that is sent round may be a second behind. */
  readonly peers: { readonly inbound: number; readonly outbound: number };
  /** 16 hex digits, and Core's names. */
  readonly services: string;
  readonly serviceNames: readonly string[];
  /** Median of what the clocks of outbound peers are ahead of ours, in seconds. */
  readonly timeOffset: number;
  readonly networks: readonly { readonly name: string; readonly reachable: boolean; readonly proxy: string }[];
  readonly localAddresses: readonly { readonly address: string; readonly port: number; readonly score: number }[];
}

interface TrafficView {
  /** Bytes since the start. */
  readonly received: number;
  readonly sent: number;
  /** Unix milliseconds. */
  readonly now: number;
  /** Bytes a day, 0 for no limit; and what is left of them, in bytes and seconds. */
  readonly target: number;
  readonly targetReached: boolean;
  readonly servesHistory: boolean;
  readonly bytesLeft: number;
  readonly secondsLeft: number;
}

/** What an operator does to the connections. All of it is refused where there is no peer network. */
export interface NetworkCalls {
  /** Returns the peers; none where there is no peer network. */
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
  /** By number, or by address. */
  disconnectPeer: { args: [which: number | string]; result: null | Refusal };
  /** Seconds from now, or until a time; 0 for as long as is configured. */
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
  setNetworkActive: { args: [active: boolean]; result: boolean | Refusal };
  /** Asks one peer for a block whose header we have. Hash in wire order. */
  fetchBlock: { args: [hash: Uint8Array, peer: number]; result: null | Refusal };
}

/** What took the place of what; hashes in display order, the lowest block first. */
interface ReorgView {
  readonly forkHeight: number;
  readonly disconnected: readonly string[];
  readonly connected: readonly string[];
}

/** What developer mode plays on request; refused without it. Amounts in satoshis. */
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
