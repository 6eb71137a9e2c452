import type { ChainTipStatus } from '../chain/chain-tips.ts';

/** Why an action was not carried out, as the RPC interface tells it. */
export interface Refusal {
  readonly refused: RefusalKind;
  /** For the caller, in Core's words where Core has some. */
  readonly message: string;
}

export type RefusalKind =
  | 'misc'
  | 'invalidAddressOrKey'
  | 'invalidParameter'
  | 'verify'
  | 'invalidParams'
  | 'clientNodeAlreadyAdded'
  | 'clientNodeNotAdded'
  | 'clientNodeNotConnected'
  | 'clientInvalidIpOrSubnet'
  | 'clientNodeCapacityReached'
  | 'clientP2pDisabled';

export function isRefusal(value: unknown): value is Refusal {
  return typeof value === 'object' && value !== null && 'refused' in value;
}

/** The end of a branch; hash in display order. */
export interface ChainTipView {
  readonly height: number;
  readonly hash: string;
  readonly branchLength: number;
  readonly status: ChainTipStatus;
}

/** What only the node thread can do to the chain. Hashes go over in wire order, and come back in display order. */
export interface ChainActions {
  chainTips: { args: []; result: readonly ChainTipView[] };
  /** Mines blocks to a script; fewer than `count` where the tries do not suffice. */
  generate: { args: [script: Uint8Array, count: number, maxTries: number]; result: readonly string[] | Refusal };
  /** Mines a block of these: txids of the mempool, or encoded transactions. */
  generateBlock: {
    args: [script: Uint8Array, txs: readonly (string | Uint8Array)[], submit: boolean];
    result: { readonly hash: string; readonly raw: Uint8Array } | Refusal;
  };
  invalidateBlock: { args: [hash: Uint8Array]; result: null | Refusal };
  reconsiderBlock: { args: [hash: Uint8Array]; result: null | Refusal };
  preciousBlock: { args: [hash: Uint8Array]; result: null | Refusal };
}

/** What is known of addresses of one network. */
export interface AddressCounts {
  readonly network: string;
  readonly new: number;
  readonly tried: number;
}

export interface BanView {
  readonly subnet: string;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly until: number;
}

export interface NetworkView {
  readonly active: boolean;
  /** 16 hex digits, and Core's names. */
  readonly services: string;
  readonly serviceNames: readonly string[];
  /** Median of what the clocks of outbound peers are ahead of ours, in seconds. */
  readonly timeOffset: number;
  readonly networks: readonly { readonly name: string; readonly reachable: boolean; readonly proxy: string }[];
  readonly localAddresses: readonly { readonly address: string; readonly port: number; readonly score: number }[];
}

export interface TrafficView {
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
export interface NetworkActions {
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
export interface ReorgView {
  readonly forkHeight: number;
  readonly disconnected: readonly string[];
  readonly connected: readonly string[];
}

/** What developer mode plays on request; refused without it. Amounts in satoshis. */
export interface ScenarioActions {
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

export type NodeActions = ChainActions & NetworkActions & ScenarioActions;
export type NodeAction = keyof NodeActions;
export type ActionArgs<N extends NodeAction> = NodeActions[N]['args'];
export type ActionResult<N extends NodeAction> = NodeActions[N]['result'];
export type ActionTable<A> = {
  readonly [N in keyof A]: A[N] extends { args: infer P extends unknown[]; result: infer R }
    ? (...args: P) => R | Promise<R>
    : never;
};
