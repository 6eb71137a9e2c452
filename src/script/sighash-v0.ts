import { hash256 } from '../crypto/hash-functions.ts';
import { writeVarBytes } from '../primitives/compact-size.ts';
import { encodeOutpoint } from '../primitives/outpoint.ts';
import { encodeOutput } from '../primitives/transaction.ts';
import { ByteWriter } from '../util/bytes.ts';
import { SIGHASH_ANYONECANPAY, SIGHASH_NONE, SIGHASH_OUTPUT_BITS, SIGHASH_SINGLE } from './sighash-type.ts';
import type { TxContext } from './tx-context.ts';

const ZERO = new Uint8Array(32);
/** Scratch space of one call. */
const writer = new ByteWriter(1024);
const singleOutput = new ByteWriter(256);

/** Returns the signature hash of an input with a version 0 witness (BIP-143). */
export function witnessV0Sighash(
  context: TxContext,
  index: number,
  scriptCode: Uint8Array,
  hashType: number,
): Uint8Array {
  return hash256(witnessV0Preimage(context, index, scriptCode, hashType));
}

/** Returns the preimage of the signature hash with the 4-byte hash type at the end. Valid until the next call. */
export function witnessV0Preimage(
  context: TxContext,
  index: number,
  scriptCode: Uint8Array,
  hashType: number,
): Uint8Array {
  const { tx } = context;
  const input = tx.inputs[index]!;
  const outputType = hashType & SIGHASH_OUTPUT_BITS;
  const allInputs = !(hashType & SIGHASH_ANYONECANPAY);
  const allOutputs = outputType !== SIGHASH_SINGLE && outputType !== SIGHASH_NONE;
  const w = writer;
  w.reset();
  w.u32(tx.version);
  w.bytes(allInputs ? context.prevoutsHash256 : ZERO);
  w.bytes(allInputs && allOutputs ? context.sequencesHash256 : ZERO);
  encodeOutpoint(w, input.prevout);
  writeVarBytes(w, scriptCode);
  w.i64(context.spentOutputs[index]!.value);
  w.u32(input.sequence);
  if (allOutputs) w.bytes(context.outputsHash256);
  else if (outputType === SIGHASH_SINGLE && index < tx.outputs.length) {
    singleOutput.reset();
    encodeOutput(singleOutput, tx.outputs[index]!);
    w.bytes(hash256(singleOutput.finish()));
  } else w.bytes(ZERO);
  w.u32(tx.locktime);
  w.u32(hashType);
  return w.finish();
}
