import type { TxPosition } from '../../primitives/coin.ts';

/** A page of the history of scripts, as `ScriptStore.history` reads it. Keys are script hashes, hex. */
export interface HistoryNeed {
  readonly keys: readonly string[];
  readonly above: TxPosition;
  readonly below: TxPosition;
  readonly order: 'asc' | 'desc';
  readonly limit: number;
  /** Whether the transactions of the page are fetched as well; there is one key then. */
  readonly withTxs: boolean;
}

/** Unspent outputs of scripts behind a place, as `ScriptStore.coins` reads them. */
export interface CoinsNeed {
  readonly keys: readonly string[];
  readonly position: TxPosition;
  readonly vout: number;
  readonly limit: number;
}

/** Transactions of the block with a hash, in block order; the hash in display order, hex. */
export interface BlockPageNeed {
  readonly hash: string;
  readonly from: number;
  readonly count: number;
}

/** Rows to fetch. Each member is one statement, and all hashes and txids are in display order, hex. */
export interface RowNeeds {
  /** Blocks of the active chain from one height up to another one. */
  readonly blocks?: readonly (readonly [from: number, to: number])[];
  /** Blocks by hash, in the active chain or out of it. */
  readonly hashes?: readonly string[];
  /** Whole transactions by txid. */
  readonly txids?: readonly string[];
  /** Positions, sizes and blocks of transactions by txid. */
  readonly places?: readonly string[];
  /** Whole transactions by position. */
  readonly transactions?: readonly TxPosition[];
  /** Whole transactions of a block. */
  readonly blockPage?: BlockPageNeed;
  /** Totals of scripts by script hash. */
  readonly totals?: readonly string[];
  readonly history?: HistoryNeed;
  readonly coins?: CoinsNeed;
  /** Sum of the unspent coinbase outputs of a script from a height on. */
  readonly coinbases?: { readonly key: string; readonly height: number };
  /** Whole transactions that spend outputs. */
  readonly spent?: readonly { readonly txid: string; readonly vout: number }[];
  /** Txids of all transactions of a block of the active chain, by its height or its hash. */
  readonly blockTxids?: { readonly height: number } | { readonly hash: string };
  /** All bytes of a block of the active chain, and all outputs that it spends. */
  readonly rawBlock?: number;
  readonly rawUndo?: number;
  /** Bytes and undo data of a block that has left the active chain. */
  readonly staleBlock?: string;
  /** The first block whose median time is this one or later. */
  readonly since?: number;
}

/** Thrown by an answer that reads rows which were not fetched. It is made again when they are. */
export class RowsMissing extends Error {
  override readonly name = 'RowsMissing';
  readonly needs: RowNeeds;

  constructor(needs: RowNeeds) {
    super('rows of the database have to be fetched');
    this.needs = needs;
  }
}
