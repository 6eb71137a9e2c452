import { sha256 } from '../crypto/hash-functions.ts';
import { writeVarBytes } from '../primitives/compact-size.ts';
import { ByteWriter } from '../util/bytes.ts';

/** Scratch space of one call. */
const scratch = new ByteWriter(4096);

/** Size of an outpoint, the length of the empty script, and a sequence, bytes. */
const UNSIGNED_INPUT_SIZE = 41;

/**
 * A transaction with its spent outputs, as the verification of its scripts reads it, and the parts of signature hashes
 * that its inputs share, computed once when first needed.
 */
export abstract class TxContext {
  /** The version as an unsigned 32-bit number. */
  abstract readonly version: number;
  abstract readonly locktime: number;
  abstract readonly inputCount: number;
  abstract readonly outputCount: number;
  #prevoutsHash: Uint8Array | null = null;
  #sequencesHash: Uint8Array | null = null;
  #outputsHash: Uint8Array | null = null;
  #spentAmountsHash: Uint8Array | null = null;
  #spentScriptsHash: Uint8Array | null = null;
  #prevoutsHash256: Uint8Array | null = null;
  #sequencesHash256: Uint8Array | null = null;
  #outputsHash256: Uint8Array | null = null;
  #unsignedInputs: Uint8Array | null = null;
  #unsignedInputsAnySequence: Uint8Array | null = null;

  abstract sequenceOf(input: number): number;
  abstract scriptSigOf(input: number): Uint8Array;
  /** Returns the stack items, bottom first; empty without a witness (BIP-144). */
  abstract witnessOf(input: number): readonly Uint8Array[];
  /** Returns the scriptPubKey of the output that an input spends. */
  abstract spentScriptOf(input: number): Uint8Array;
  /** Writes the outpoint of an input, 36 bytes. */
  abstract writePrevout(w: ByteWriter, input: number): void;
  /** Writes the value of the output that an input spends, 8 bytes. */
  abstract writeSpentValue(w: ByteWriter, input: number): void;
  abstract writeOutput(w: ByteWriter, output: number): void;
  /** Writes all outputs without their count. */
  abstract writeOutputs(w: ByteWriter): void;

  /**
   * Writes the inputs from `from` up to before `to`, each as its outpoint, an empty script and its sequence, which is zero
   * for SIGHASH_NONE and SIGHASH_SINGLE (`sequences` false).
   */
  writeUnsignedInputs(w: ByteWriter, from: number, to: number, sequences: boolean): void {
    if (from === to) return;
    const all = sequences
      ? (this.#unsignedInputs ??= this.#encodeUnsigned(true))
      : (this.#unsignedInputsAnySequence ??= this.#encodeUnsigned(false));
    w.slice(all, from * UNSIGNED_INPUT_SIZE, to * UNSIGNED_INPUT_SIZE);
  }

  /** BIP-341 sha_prevouts. */
  get prevoutsHash(): Uint8Array {
    if (this.#prevoutsHash === null) {
      scratch.reset();
      for (let i = 0; i < this.inputCount; i++) this.writePrevout(scratch, i);
      this.#prevoutsHash = sha256(scratch.finish());
    }
    return this.#prevoutsHash;
  }

  /** BIP-341 sha_sequences. */
  get sequencesHash(): Uint8Array {
    if (this.#sequencesHash === null) {
      scratch.reset();
      for (let i = 0; i < this.inputCount; i++) scratch.u32(this.sequenceOf(i));
      this.#sequencesHash = sha256(scratch.finish());
    }
    return this.#sequencesHash;
  }

  /** BIP-341 sha_outputs. */
  get outputsHash(): Uint8Array {
    if (this.#outputsHash === null) {
      scratch.reset();
      this.writeOutputs(scratch);
      this.#outputsHash = sha256(scratch.finish());
    }
    return this.#outputsHash;
  }

  /** BIP-341 sha_amounts. */
  get spentAmountsHash(): Uint8Array {
    if (this.#spentAmountsHash === null) {
      scratch.reset();
      for (let i = 0; i < this.inputCount; i++) this.writeSpentValue(scratch, i);
      this.#spentAmountsHash = sha256(scratch.finish());
    }
    return this.#spentAmountsHash;
  }

  /** BIP-341 sha_scriptpubkeys. */
  get spentScriptsHash(): Uint8Array {
    if (this.#spentScriptsHash === null) {
      scratch.reset();
      for (let i = 0; i < this.inputCount; i++) writeVarBytes(scratch, this.spentScriptOf(i));
      this.#spentScriptsHash = sha256(scratch.finish());
    }
    return this.#spentScriptsHash;
  }

  /** BIP-143 hashPrevouts: SHA-256 of BIP-341's sha_prevouts; likewise the two below. */
  get prevoutsHash256(): Uint8Array {
    this.#prevoutsHash256 ??= sha256(this.prevoutsHash);
    return this.#prevoutsHash256;
  }

  /** BIP-143 hashSequence. */
  get sequencesHash256(): Uint8Array {
    this.#sequencesHash256 ??= sha256(this.sequencesHash);
    return this.#sequencesHash256;
  }

  /** BIP-143 hashOutputs. */
  get outputsHash256(): Uint8Array {
    this.#outputsHash256 ??= sha256(this.outputsHash);
    return this.#outputsHash256;
  }

  #encodeUnsigned(sequences: boolean): Uint8Array {
    scratch.reset();
    for (let i = 0; i < this.inputCount; i++) {
      this.writePrevout(scratch, i);
      scratch.u8(0);
      scratch.u32(sequences ? this.sequenceOf(i) : 0);
    }
    return scratch.finish().slice();
  }
}
