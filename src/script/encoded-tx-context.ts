import { readCompactSize, readVarBytes } from '../primitives/compact-size.ts';
import { decodeWitness } from '../primitives/transaction.ts';
import { skipUndoPosition } from '../primitives/undo.ts';
import { ByteReader, type ByteWriter, DecodeError } from '../util/bytes.ts';
import { TxContext } from './tx-context.ts';

const OUTPOINT_SIZE = 36;
const VALUE_SIZE = 8;
const NO_BYTES = new Uint8Array(0);
const NO_WITNESS: readonly Uint8Array[] = [];

/** The parts of an input and of the output that it spends. */
interface EncodedInput {
  /** Offset of the outpoint. */
  readonly at: number;
  readonly scriptSig: Uint8Array;
  readonly sequence: number;
  witness: readonly Uint8Array[];
  /** Offset of the value of the spent output. */
  valueAt: number;
  spentScript: Uint8Array;
}

/**
 * The context of a transaction that stays encoded: signature hashes contain most of its bytes as they are, so outpoints
 * and outputs are not decoded.
 */
export class EncodedTxContext extends TxContext {
  readonly version: number;
  readonly locktime: number;
  readonly outputCount: number;
  readonly #bytes: Uint8Array;
  readonly #inputs: readonly EncodedInput[];
  readonly #outputsAt: number;
  readonly #outputsEnd: number;
  /** Offsets of all outputs and of their end, found when SIGHASH_SINGLE needs one. */
  #outputOffsets: Uint32Array | null = null;

  /**
   * Reads the encoding of a transaction with its witness at `at`, and the undo records of its inputs at `spentAt`. The
   * transaction has been decoded before, which rejects a superfluous witness; the bytes must not change. Throws DecodeError.
   */
  constructor(bytes: Uint8Array, at: number, spentAt: number) {
    super();
    this.#bytes = bytes;
    const r = new ByteReader(bytes, at);
    this.version = r.u32();
    let inputs = readInputs(r);
    // BIP-144: an empty input list is the segwit marker, and the next byte holds the flags.
    const extended = inputs.length === 0;
    if (extended) {
      if (r.u8() !== 1) throw new DecodeError('unknown transaction flags');
      inputs = readInputs(r);
    }
    this.outputCount = readCompactSize(r);
    this.#outputsAt = r.pos;
    for (let i = 0; i < this.outputCount; i++) skipOutput(r);
    this.#outputsEnd = r.pos;
    if (extended) for (const input of inputs) input.witness = decodeWitness(r);
    this.locktime = r.u32();
    r.pos = spentAt;
    for (const input of inputs) {
      skipUndoPosition(r);
      input.valueAt = r.pos;
      r.skip(VALUE_SIZE);
      input.spentScript = readVarBytes(r);
    }
    this.#inputs = inputs;
  }

  get inputCount(): number {
    return this.#inputs.length;
  }

  sequenceOf(input: number): number {
    return this.#inputs[input]!.sequence;
  }

  scriptSigOf(input: number): Uint8Array {
    return this.#inputs[input]!.scriptSig;
  }

  witnessOf(input: number): readonly Uint8Array[] {
    return this.#inputs[input]!.witness;
  }

  spentScriptOf(input: number): Uint8Array {
    return this.#inputs[input]!.spentScript;
  }

  writePrevout(w: ByteWriter, input: number): void {
    const { at } = this.#inputs[input]!;
    w.slice(this.#bytes, at, at + OUTPOINT_SIZE);
  }

  writeSpentValue(w: ByteWriter, input: number): void {
    const { valueAt } = this.#inputs[input]!;
    w.slice(this.#bytes, valueAt, valueAt + VALUE_SIZE);
  }

  writeOutput(w: ByteWriter, output: number): void {
    const offsets = (this.#outputOffsets ??= this.#findOutputs());
    w.slice(this.#bytes, offsets[output]!, offsets[output + 1]!);
  }

  writeOutputs(w: ByteWriter): void {
    w.slice(this.#bytes, this.#outputsAt, this.#outputsEnd);
  }

  #findOutputs(): Uint32Array {
    const offsets = new Uint32Array(this.outputCount + 1);
    const r = new ByteReader(this.#bytes, this.#outputsAt, this.#outputsEnd);
    for (let i = 0; i < this.outputCount; i++) {
      offsets[i] = r.pos;
      skipOutput(r);
    }
    offsets[this.outputCount] = r.pos;
    return offsets;
  }
}

function readInputs(r: ByteReader): EncodedInput[] {
  const count = readCompactSize(r);
  if (count > r.remaining) throw new DecodeError('unexpected end of data');
  const inputs: EncodedInput[] = [];
  for (let i = 0; i < count; i++) {
    const at = r.pos;
    r.skip(OUTPOINT_SIZE);
    const scriptSig = readVarBytes(r);
    inputs.push({ at, scriptSig, sequence: r.u32(), witness: NO_WITNESS, valueAt: 0, spentScript: NO_BYTES });
  }
  return inputs;
}

function skipOutput(r: ByteReader): void {
  r.skip(VALUE_SIZE);
  r.skip(readCompactSize(r));
}
