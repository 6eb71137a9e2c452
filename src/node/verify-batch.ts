import { readVarBytes, writeVarBytes } from '../primitives/compact-size.ts';
import { decodeTransaction, type Transaction, type TxOutput } from '../primitives/transaction.ts';
import { readTxUndo } from '../primitives/undo.ts';
import { ByteReader, ByteWriter } from '../util/bytes.ts';

/**
 * Script checks on their way to a worker, as bytes, because objects are slow to clone: flags, then for each transaction
 * its number in the block, the range of inputs to check, its encoding, and the undo records of all its inputs.
 */
export class VerifyBatchWriter {
  readonly #w = new ByteWriter(1 << 16);
  #inputs = 0;

  /** Inputs added since `begin`. */
  get inputs(): number {
    return this.#inputs;
  }

  get bytes(): number {
    return this.#w.length;
  }

  begin(flags: number): void {
    this.#w.reset();
    this.#w.u32(flags);
    this.#inputs = 0;
  }

  add(tx: number, from: number, to: number, raw: Uint8Array, spent: Uint8Array): void {
    this.#w.u32(tx);
    this.#w.u32(from);
    this.#w.u32(to);
    writeVarBytes(this.#w, raw);
    writeVarBytes(this.#w, spent);
    this.#inputs += to - from;
  }

  /** The batch, in memory of its own. */
  take(): Uint8Array<ArrayBuffer> {
    return this.#w.finish().slice();
  }
}

export interface VerifyItem {
  /** Number of the transaction in its block, as it was added. */
  readonly tx: number;
  readonly from: number;
  readonly to: number;
  readonly transaction: Transaction;
  readonly spentOutputs: readonly TxOutput[];
}

/** Reads a batch: its flags, and its items one by one. */
export function readVerifyBatch(bytes: Uint8Array): { flags: number; items: Generator<VerifyItem> } {
  const r = new ByteReader(bytes);
  return { flags: r.u32(), items: readItems(r) };
}

function* readItems(r: ByteReader): Generator<VerifyItem> {
  while (r.remaining > 0) {
    const tx = r.u32();
    const from = r.u32();
    const to = r.u32();
    const transaction = decodeTransaction(new ByteReader(readVarBytes(r)));
    const spent = readTxUndo(new ByteReader(readVarBytes(r)), transaction.inputs.length);
    yield { tx, from, to, transaction, spentOutputs: spent.map(({ output }) => output) };
  }
}
