import { HEADER_SIZE } from './header.ts';

/** Core's MAX_SIZE: the bound on vectors and strings on the wire. */
const MAX_SIZE = 0x0200_0000;
/** A transaction has at least 10 bytes, an input 41, an output 9. */
const MIN_TRANSACTION = 10;

/**
 * The parts of an encoded block as offsets in its bytes, in columns: a block has thousands of inputs and outputs, and an
 * object for each costs more than all checks of it. Transactions, inputs and outputs are numbered through the block.
 */
export interface BlockColumns {
  readonly txCount: number;
  /** Begin of each transaction, and the end of the last one. */
  readonly txAt: Uint32Array;
  /** Offset of the input count: after the version, or after marker and flags. */
  readonly bodyAt: Uint32Array;
  /** Offset of the witnesses, or of the locktime without any. */
  readonly witnessAt: Uint32Array;
  /** Number of the first input of each transaction, and the number of all inputs. */
  readonly firstInput: Uint32Array;
  readonly firstOutput: Uint32Array;
  /** The outpoint of each input; its script begins at `scriptSigAt` and ends where its sequence begins. */
  readonly prevoutAt: Uint32Array;
  readonly scriptSigAt: Uint32Array;
  readonly sequenceAt: Uint32Array;
  /** The last item of the witness of each input; empty without a witness. */
  readonly lastItemAt: Uint32Array;
  readonly lastItemEnd: Uint32Array;
  /** The script of each output. */
  readonly scriptAt: Uint32Array;
  readonly scriptEnd: Uint32Array;
  /** Satoshis; inexact outside of MoneyRange. */
  readonly value: Float64Array;
}

/** Returns the columns of the block at the beginning of the bytes; null if it cannot be decoded. */
export function blockColumns(bytes: Uint8Array): BlockColumns | null {
  try {
    return scanner.scan(bytes);
  } finally {
    scanner.release();
  }
}

/** Returns the little-endian number at `at`. */
export function u32At(bytes: Uint8Array, at: number): number {
  return (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0;
}

/** Scans a block into arrays that are used again, and returns copies of their used parts. */
class BlockScanner {
  #bytes: Uint8Array = new Uint8Array(0);
  #pos = 0;
  #inputs = 0;
  #outputs = 0;
  #prevoutAt = new Uint32Array(0);
  #scriptSigAt = new Uint32Array(0);
  #sequenceAt = new Uint32Array(0);
  #lastItemAt = new Uint32Array(0);
  #lastItemEnd = new Uint32Array(0);
  #scriptAt = new Uint32Array(0);
  #scriptEnd = new Uint32Array(0);
  #value = new Float64Array(0);

  /** Lets go of the bytes of the last block. */
  release(): void {
    this.#bytes = new Uint8Array(0);
  }

  scan(bytes: Uint8Array): BlockColumns | null {
    this.#bytes = bytes;
    this.#pos = HEADER_SIZE;
    this.#inputs = 0;
    this.#outputs = 0;
    const count = this.#size();
    if (count < 0 || count > (bytes.length - this.#pos) / MIN_TRANSACTION) return null;
    const txAt = new Uint32Array(count + 1);
    const bodyAt = new Uint32Array(count);
    const witnessAt = new Uint32Array(count);
    const firstInput = new Uint32Array(count + 1);
    const firstOutput = new Uint32Array(count + 1);
    for (let i = 0; i < count; i++) {
      const start = this.#pos;
      txAt[i] = start;
      firstInput[i] = this.#inputs;
      firstOutput[i] = this.#outputs;
      this.#pos = start + 4;
      let body = this.#pos;
      const first = this.#size();
      if (first < 0) return null;
      let flags = 0;
      if (first === 0) {
        // BIP-144: an empty input list is the segwit marker, and the next byte holds the flags.
        if (this.#pos >= bytes.length) return null;
        flags = bytes[this.#pos++]!;
        if (flags > 1) return null;
        if (flags === 1) {
          body = this.#pos;
          const inputs = this.#size();
          if (inputs < 0 || !this.#scanInputs(inputs) || !this.#scanOutputs()) return null;
        }
      } else if (!this.#scanInputs(first) || !this.#scanOutputs()) return null;
      bodyAt[i] = body;
      witnessAt[i] = this.#pos;
      if (flags === 1 && !this.#scanWitnesses(firstInput[i]!)) return null;
      this.#pos += 4;
      if (this.#pos > bytes.length) return null;
    }
    txAt[count] = this.#pos;
    firstInput[count] = this.#inputs;
    firstOutput[count] = this.#outputs;
    const inputs = this.#inputs;
    const outputs = this.#outputs;
    return {
      txCount: count,
      txAt,
      bodyAt,
      witnessAt,
      firstInput,
      firstOutput,
      prevoutAt: this.#prevoutAt.slice(0, inputs),
      scriptSigAt: this.#scriptSigAt.slice(0, inputs),
      sequenceAt: this.#sequenceAt.slice(0, inputs),
      lastItemAt: this.#lastItemAt.slice(0, inputs),
      lastItemEnd: this.#lastItemEnd.slice(0, inputs),
      scriptAt: this.#scriptAt.slice(0, outputs),
      scriptEnd: this.#scriptEnd.slice(0, outputs),
      value: this.#value.slice(0, outputs),
    };
  }

  #scanInputs(count: number): boolean {
    const bytes = this.#bytes;
    // Each input has at least 41 bytes, so a greater count cannot be valid.
    if (count > (bytes.length - this.#pos) / 41) return false;
    if (this.#inputs + count > this.#prevoutAt.length) this.#growInputs(this.#inputs + count);
    for (let n = 0; n < count; n++) {
      const at = this.#inputs++;
      this.#prevoutAt[at] = this.#pos;
      this.#pos += 36;
      const length = this.#size();
      if (length < 0) return false;
      this.#scriptSigAt[at] = this.#pos;
      this.#pos += length;
      this.#sequenceAt[at] = this.#pos;
      this.#pos += 4;
      this.#lastItemAt[at] = 0;
      this.#lastItemEnd[at] = 0;
      if (this.#pos > bytes.length) return false;
    }
    return true;
  }

  #scanOutputs(): boolean {
    const bytes = this.#bytes;
    const count = this.#size();
    if (count < 0 || count > (bytes.length - this.#pos) / 9) return false;
    if (this.#outputs + count > this.#value.length) this.#growOutputs(this.#outputs + count);
    for (let n = 0; n < count; n++) {
      const at = this.#outputs++;
      const from = this.#pos;
      if (from + 8 > bytes.length) return false;
      const high = bytes[from + 4]! | (bytes[from + 5]! << 8) | (bytes[from + 6]! << 16) | (bytes[from + 7]! << 24);
      this.#value[at] = high * 0x1_0000_0000 + u32At(bytes, from);
      this.#pos = from + 8;
      const length = this.#size();
      if (length < 0) return false;
      this.#scriptAt[at] = this.#pos;
      this.#pos += length;
      this.#scriptEnd[at] = this.#pos;
      if (this.#pos > bytes.length) return false;
    }
    return true;
  }

  /** Scans the witnesses of the inputs from `first` on. Returns false if all are empty, as the encoding forbids. */
  #scanWitnesses(first: number): boolean {
    const bytes = this.#bytes;
    let some = false;
    for (let at = first; at < this.#inputs; at++) {
      const items = this.#size();
      if (items < 0 || items > bytes.length - this.#pos) return false;
      if (items > 0) some = true;
      for (let n = 0; n < items; n++) {
        const length = this.#size();
        if (length < 0) return false;
        this.#lastItemAt[at] = this.#pos;
        this.#pos += length;
        this.#lastItemEnd[at] = this.#pos;
        if (this.#pos > bytes.length) return false;
      }
    }
    return some;
  }

  /** Reads a compact size; -1 if it is none, or not in its shortest form. */
  #size(): number {
    const bytes = this.#bytes;
    const pos = this.#pos;
    if (pos >= bytes.length) return -1;
    const first = bytes[pos]!;
    if (first < 0xfd) {
      this.#pos = pos + 1;
      return first;
    }
    if (first === 0xfd) {
      if (pos + 3 > bytes.length) return -1;
      const size = bytes[pos + 1]! | (bytes[pos + 2]! << 8);
      this.#pos = pos + 3;
      return size < 0xfd ? -1 : size;
    }
    // The longest form stands for numbers above the limit.
    if (first === 0xff || pos + 5 > bytes.length) return -1;
    const size = u32At(bytes, pos + 1);
    this.#pos = pos + 5;
    return size <= 0xffff || size > MAX_SIZE ? -1 : size;
  }

  #growInputs(least: number): void {
    const size = Math.max(least, this.#prevoutAt.length * 2, 4096);
    this.#prevoutAt = enlarged(this.#prevoutAt, size);
    this.#scriptSigAt = enlarged(this.#scriptSigAt, size);
    this.#sequenceAt = enlarged(this.#sequenceAt, size);
    this.#lastItemAt = enlarged(this.#lastItemAt, size);
    this.#lastItemEnd = enlarged(this.#lastItemEnd, size);
  }

  #growOutputs(least: number): void {
    const size = Math.max(least, this.#value.length * 2, 4096);
    this.#scriptAt = enlarged(this.#scriptAt, size);
    this.#scriptEnd = enlarged(this.#scriptEnd, size);
    const value = new Float64Array(size);
    value.set(this.#value);
    this.#value = value;
  }
}

function enlarged(from: Uint32Array<ArrayBuffer>, size: number): Uint32Array<ArrayBuffer> {
  const to = new Uint32Array(size);
  to.set(from);
  return to;
}

const scanner = new BlockScanner();
