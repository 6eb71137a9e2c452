import { hash256 } from '../crypto/hash-functions.ts';
import { writeVarBytes } from '../primitives/compact-size.ts';
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
  const outputType = hashType & SIGHASH_OUTPUT_BITS;
  const allInputs = !(hashType & SIGHASH_ANYONECANPAY);
  const allOutputs = outputType !== SIGHASH_SINGLE && outputType !== SIGHASH_NONE;
  const w = writer;
  w.reset();
  w.u32(context.version);
  w.bytes(allInputs ? context.prevoutsHash256 : ZERO);
  w.bytes(allInputs && allOutputs ? context.sequencesHash256 : ZERO);
  context.writePrevout(w, index);
  writeVarBytes(w, scriptCode);
  context.writeSpentValue(w, index);
  w.u32(context.sequenceOf(index));
  if (allOutputs) w.bytes(context.outputsHash256);
  else if (outputType === SIGHASH_SINGLE && index < context.outputCount) {
    singleOutput.reset();
    context.writeOutput(singleOutput, index);
    w.bytes(hash256(singleOutput.finish()));
  } else w.bytes(ZERO);
  w.u32(context.locktime);
  w.u32(hashType);
  return w.finish();
}
