import { repeatedCoinbaseHeight } from '../consensus/bip30.ts';
import { targetToHex } from '../consensus/work.ts';
import { sha256 } from '../crypto/hash-functions.ts';
import { type ParsedBlock, type ParsedTransaction, weightOf } from '../primitives/block.ts';
import { type Coin, positionHeight, positionIndex, txPosition } from '../primitives/coin.ts';
import { HEADER_SIZE } from '../primitives/header.ts';
import { readTxUndo } from '../primitives/undo.ts';
import { isUnspendable } from '../script/templates.ts';
import { ByteReader, DecodeError } from '../util/bytes.ts';
import { type BlockTotals, totalsRow } from './chain-totals.ts';
import { CopyRows } from './copy-rows.ts';
import { ROW_TABLES, type RowTable } from './sink-schema.ts';

/** A block of the active chain with all that its rows are made from. */
export interface SinkBlock {
  readonly height: number;
  readonly block: ParsedBlock;
  /** The undo data, as `openUndo` returns them; empty for the genesis block. */
  readonly undo: Uint8Array;
  readonly medianTime: number;
  readonly chainwork: bigint;
  /** Sum of the fees, satoshis. */
  readonly fees: number;
  readonly totals: BlockTotals;
}

/** The sums of one script over some transactions, and their number. */
export interface BalanceChange {
  /** SHA-256 of the script. */
  readonly scriptHash: Uint8Array;
  received: number;
  sent: number;
  transactions: number;
  outputs: number;
  inputs: number;
}

/** Counts and sums of the transactions of a block. */
interface BlockSums {
  inputs: number;
  outputs: number;
  outputValue: number;
  reward: number;
}

/** Rows of blocks, and what changes in the balances by script hash, hex. */
export class BlockRows {
  readonly #tables: Readonly<Record<RowTable, CopyRows>>;
  readonly balances = new Map<string, BalanceChange>();

  constructor() {
    this.#tables = Object.fromEntries(ROW_TABLES.map((table) => [table, new CopyRows()])) as Record<RowTable, CopyRows>;
  }

  /** Number of rows in all tables. */
  get count(): number {
    return ROW_TABLES.reduce((sum, table) => sum + this.#tables[table].count, 0);
  }

  /** Returns a copy of the rows of each table in the text format of COPY. */
  encodedTables(): Record<RowTable, Uint8Array<ArrayBuffer>> {
    const encoded = ROW_TABLES.map((table) => [table, this.#tables[table].encodedRows().slice()]);
    return Object.fromEntries(encoded) as Record<RowTable, Uint8Array<ArrayBuffer>>;
  }

  clear(): void {
    for (const table of ROW_TABLES) this.#tables[table].clear();
    this.balances.clear();
  }

  /** Adds the rows of a block. `withBalances`: also to the balances. Throws DecodeError where the undo data are not its own. */
  addBlock(of: SinkBlock, withBalances: boolean): void {
    const { height, block, undo } = of;
    const r = new ByteReader(undo);
    const repeated = repeatedCoinbaseHeight(block.hash, height);
    const sums: BlockSums = { inputs: 0, outputs: 0, outputValue: 0, reward: 0 };
    for (const [position, tx] of block.txs.entries()) {
      const spent = position === 0 ? [] : readTxUndo(r, tx.tx.inputs.length);
      const history = this.#addTransaction({ height, position, tx, spent, repeated }, sums);
      for (const change of history.values()) {
        const { scriptHash, received, sent, outputs, inputs } = change;
        const row = this.#tables.address_history.addNumber(height).addNumber(position).addBytes(scriptHash);
        row.addNumber(received).addNumber(sent).addNumber(outputs).addNumber(inputs).endRow();
      }
      if (withBalances) for (const [key, change] of history) this.#addBalance(key, change);
    }
    if (r.remaining > 0) throw new DecodeError('the undo data do not belong to the block');
    this.#addBlockRow(of, sums);
  }

  /** Adds the rows of a transaction but those of its history. Returns the sums of its scripts by script hash, hex. */
  #addTransaction(
    of: {
      readonly height: number;
      readonly position: number;
      readonly tx: ParsedTransaction;
      readonly spent: readonly Coin[];
      /** Height of an earlier coinbase with the same txid. */
      readonly repeated: number | null;
    },
    sums: BlockSums,
  ): ReadonlyMap<string, BalanceChange> {
    const { height, position, tx: parsed, spent, repeated } = of;
    const { tx, txid, wtxid, raw } = parsed;
    const history = new Map<string, BalanceChange>();
    let value = 0;
    for (const [vin, coin] of spent.entries()) {
      const amount = Number(coin.output.value);
      const sum = sumOf(history, coin.output.scriptPubKey);
      sum.sent += amount;
      sum.inputs++;
      value += amount;
      this.#addInput(height, position, vin, tx.inputs[vin]!.prevout, coin, sum.scriptHash);
    }
    let paid = 0;
    for (const [vout, { value: sats, scriptPubKey }] of tx.outputs.entries()) {
      const amount = Number(sats);
      paid += amount;
      const row = this.#tables.outputs.addNumber(height).addNumber(position).addNumber(vout).addNumber(amount);
      row.addBytes(scriptPubKey);
      // The coinbase of the genesis block never was a coin.
      if (height === 0 || isUnspendable(scriptPubKey)) {
        row.addNull().endRow();
        continue;
      }
      const sum = sumOf(history, scriptPubKey);
      sum.received += amount;
      sum.outputs++;
      row.addBytes(sum.scriptHash).endRow();
      if (position > 0 || repeated === null) continue;
      // BIP-30: the earlier coinbase has the same outputs, which are lost; the repetition counts as their spender.
      sum.sent += amount;
      sum.inputs++;
      const lost: Coin = { position: txPosition(repeated, 0), output: { value: sats, scriptPubKey } };
      this.#addInput(height, position, vout, { txid, vout }, lost, sum.scriptHash);
    }
    const row = this.#tables.transactions.addNumber(height).addNumber(position);
    row.addBytes(txid, true).addBytes(wtxid, true).addNumber(raw.length).addNumber(weightOf(parsed));
    row
      .addNumber(position === 0 ? 0 : value - paid)
      .addBytes(raw)
      .endRow();
    sums.inputs += spent.length;
    sums.outputs += tx.outputs.length;
    if (position === 0) sums.reward = paid;
    else sums.outputValue += paid;
    return history;
  }

  #addInput(
    height: number,
    position: number,
    vin: number,
    prevout: { readonly txid: Uint8Array; readonly vout: number },
    { position: created, output }: Coin,
    scriptHash: Uint8Array,
  ): void {
    const row = this.#tables.inputs.addNumber(height).addNumber(position).addNumber(vin);
    row.addBytes(prevout.txid, true).addNumber(prevout.vout);
    row.addNumber(positionHeight(created)).addNumber(positionIndex(created)).addNumber(Number(output.value));
    row.addBytes(scriptHash).endRow();
  }

  #addBlockRow({ height, block, medianTime, chainwork, fees, totals }: SinkBlock, sums: BlockSums): void {
    const { hash, raw, header, columns } = block;
    const row = this.#tables.blocks.addNumber(height).addBytes(hash, true).addBytes(raw.subarray(0, HEADER_SIZE));
    row
      .addNumber(header.time)
      .addNumber(medianTime)
      .addBytes(Uint8Array.fromHex(targetToHex(chainwork)));
    row.addNumber(columns.txCount).addNumber(sums.inputs).addNumber(sums.outputs);
    row.addNumber(raw.length).addNumber(weightOf(block));
    row.addNumber(sums.outputValue).addNumber(fees).addNumber(sums.reward);
    for (const total of totalsRow(totals)) row.addNumber(total);
    row.endRow();
  }

  #addBalance(key: string, change: BalanceChange): void {
    const known = this.balances.get(key);
    if (known === undefined) {
      this.balances.set(key, change);
      return;
    }
    known.received += change.received;
    known.sent += change.sent;
    known.transactions++;
    known.outputs += change.outputs;
    known.inputs += change.inputs;
  }
}

/** Returns the sums of a script, which are zero at first. */
function sumOf(history: Map<string, BalanceChange>, scriptPubKey: Uint8Array): BalanceChange {
  const scriptHash = sha256(scriptPubKey);
  const key = scriptHash.toHex();
  let sum = history.get(key);
  if (sum === undefined)
    history.set(key, (sum = { scriptHash, received: 0, sent: 0, transactions: 1, outputs: 0, inputs: 0 }));
  return sum;
}
