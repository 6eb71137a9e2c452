import { sha256 } from '../crypto/hash-functions.ts';
import { writeVarBytes } from '../primitives/compact-size.ts';
import { encodeOutpoint } from '../primitives/outpoint.ts';
import { encodeOutput, type Transaction, type TxOutput } from '../primitives/transaction.ts';
import { assert } from '../util/assert.ts';
import { ByteWriter } from '../util/bytes.ts';

/** Scratch space of one call. */
const scratch = new ByteWriter(4096);

/**
 * A transaction with its spent outputs, and the parts of signature hashes that its inputs share, computed once when
 * first needed.
 */
export class TxContext {
  readonly tx: Transaction;
  /** The spent outputs in input order. */
  readonly spentOutputs: readonly TxOutput[];
  #outputs: Uint8Array | null = null;
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

  constructor(tx: Transaction, spentOutputs: readonly TxOutput[]) {
    assert(spentOutputs.length === tx.inputs.length, 'one spent output for each input');
    this.tx = tx;
    this.spentOutputs = spentOutputs;
  }

  /** The encoded outputs without their count. */
  get outputs(): Uint8Array {
    if (this.#outputs === null) {
      scratch.reset();
      for (const output of this.tx.outputs) encodeOutput(scratch, output);
      this.#outputs = scratch.finish().slice();
    }
    return this.#outputs;
  }

  /** All inputs of 41 bytes each: outpoint, empty script, sequence. */
  get unsignedInputs(): Uint8Array {
    this.#unsignedInputs ??= this.#encodeUnsigned(true);
    return this.#unsignedInputs;
  }

  /** `unsignedInputs` with all sequences zero, for SIGHASH_NONE and SIGHASH_SINGLE. */
  get unsignedInputsAnySequence(): Uint8Array {
    this.#unsignedInputsAnySequence ??= this.#encodeUnsigned(false);
    return this.#unsignedInputsAnySequence;
  }

  /** BIP-341 sha_prevouts. */
  get prevoutsHash(): Uint8Array {
    if (this.#prevoutsHash === null) {
      scratch.reset();
      for (const { prevout } of this.tx.inputs) encodeOutpoint(scratch, prevout);
      this.#prevoutsHash = sha256(scratch.finish());
    }
    return this.#prevoutsHash;
  }

  /** BIP-341 sha_sequences. */
  get sequencesHash(): Uint8Array {
    if (this.#sequencesHash === null) {
      scratch.reset();
      for (const { sequence } of this.tx.inputs) scratch.u32(sequence);
      this.#sequencesHash = sha256(scratch.finish());
    }
    return this.#sequencesHash;
  }

  /** BIP-341 sha_outputs. */
  get outputsHash(): Uint8Array {
    this.#outputsHash ??= sha256(this.outputs);
    return this.#outputsHash;
  }

  /** BIP-341 sha_amounts. */
  get spentAmountsHash(): Uint8Array {
    if (this.#spentAmountsHash === null) {
      scratch.reset();
      for (const { value } of this.spentOutputs) scratch.i64(value);
      this.#spentAmountsHash = sha256(scratch.finish());
    }
    return this.#spentAmountsHash;
  }

  /** BIP-341 sha_scriptpubkeys. */
  get spentScriptsHash(): Uint8Array {
    if (this.#spentScriptsHash === null) {
      scratch.reset();
      for (const { scriptPubKey } of this.spentOutputs) writeVarBytes(scratch, scriptPubKey);
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
    for (const { prevout, sequence } of this.tx.inputs) {
      encodeOutpoint(scratch, prevout);
      scratch.u8(0);
      scratch.u32(sequences ? sequence : 0);
    }
    return scratch.finish().slice();
  }
}
