import { encodeOutpoint } from '../primitives/outpoint.ts';
import { encodeOutput, type Transaction, type TxOutput } from '../primitives/transaction.ts';
import { assert } from '../util/assert.ts';
import { ByteWriter } from '../util/bytes.ts';
import { TxContext } from './tx-context.ts';

/** Scratch space of one call. */
const scratch = new ByteWriter(4096);

/** The context of a transaction that is decoded. */
export class DecodedTxContext extends TxContext {
  readonly tx: Transaction;
  /** The spent outputs in input order. */
  readonly spentOutputs: readonly TxOutput[];
  readonly version: number;
  readonly locktime: number;
  readonly inputCount: number;
  readonly outputCount: number;
  #outputs: Uint8Array | null = null;

  constructor(tx: Transaction, spentOutputs: readonly TxOutput[]) {
    super();
    assert(spentOutputs.length === tx.inputs.length, 'one spent output for each input');
    this.tx = tx;
    this.spentOutputs = spentOutputs;
    this.version = tx.version;
    this.locktime = tx.locktime;
    this.inputCount = tx.inputs.length;
    this.outputCount = tx.outputs.length;
  }

  sequenceOf(input: number): number {
    return this.tx.inputs[input]!.sequence;
  }

  scriptSigOf(input: number): Uint8Array {
    return this.tx.inputs[input]!.scriptSig;
  }

  witnessOf(input: number): readonly Uint8Array[] {
    return this.tx.inputs[input]!.witness;
  }

  spentScriptOf(input: number): Uint8Array {
    return this.spentOutputs[input]!.scriptPubKey;
  }

  writePrevout(w: ByteWriter, input: number): void {
    encodeOutpoint(w, this.tx.inputs[input]!.prevout);
  }

  writeSpentValue(w: ByteWriter, input: number): void {
    w.i64(this.spentOutputs[input]!.value);
  }

  writeOutput(w: ByteWriter, output: number): void {
    encodeOutput(w, this.tx.outputs[output]!);
  }

  writeOutputs(w: ByteWriter): void {
    if (this.#outputs === null) {
      scratch.reset();
      for (const output of this.tx.outputs) encodeOutput(scratch, output);
      this.#outputs = scratch.finish().slice();
    }
    w.bytes(this.#outputs);
  }
}
