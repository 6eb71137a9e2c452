import { hash256 } from '../crypto/hash-functions.ts';
import { writeCompactSize } from '../primitives/compact-size.ts';
import { ByteWriter } from '../util/bytes.ts';
import { Op } from './opcodes.ts';
import { operationEnd, pushStart } from './script-reader.ts';
import { SIGHASH_ANYONECANPAY, SIGHASH_NONE, SIGHASH_OUTPUT_BITS, SIGHASH_SINGLE } from './sighash-type.ts';
import type { TxContext } from './tx-context.ts';

/** Scratch space of one call. */
const writer = new ByteWriter(4096);

/**
 * The signature hash of SIGHASH_SINGLE without a matching output: the number one, little-endian. A bug that consensus
 * preserves.
 */
export const SIGHASH_ONE: Uint8Array = Uint8Array.of(1, ...new Uint8Array(31));

/** Returns the signature hash of an input before segwit. `hashType` may be any 32-bit number. */
export function legacySighash(context: TxContext, index: number, scriptCode: Uint8Array, hashType: number): Uint8Array {
  const preimage = legacyPreimage(context, index, scriptCode, hashType);
  return preimage === null ? SIGHASH_ONE : hash256(preimage);
}

/**
 * Returns the preimage of the signature hash: the transaction with all scriptSigs empty except this one, which becomes
 * `scriptCode`, and the 4-byte hash type at the end. Valid until the next call. Null if the hash is `SIGHASH_ONE`.
 */
export function legacyPreimage(
  context: TxContext,
  index: number,
  scriptCode: Uint8Array,
  hashType: number,
): Uint8Array | null {
  const outputType = hashType & SIGHASH_OUTPUT_BITS;
  const single = outputType === SIGHASH_SINGLE;
  if (single && index >= context.outputCount) return null;
  const none = outputType === SIGHASH_NONE;
  const w = writer;
  w.reset();
  w.u32(context.version);

  const { inputCount } = context;
  const anyoneCanPay = (hashType & SIGHASH_ANYONECANPAY) !== 0;
  // SIGHASH_NONE and SIGHASH_SINGLE do not commit to the sequences of other inputs.
  const sequences = !none && !single;
  writeCompactSize(w, anyoneCanPay ? 1 : inputCount);
  if (!anyoneCanPay) context.writeUnsignedInputs(w, 0, index, sequences);
  context.writePrevout(w, index);
  writeScriptCode(w, scriptCode);
  w.u32(context.sequenceOf(index));
  if (!anyoneCanPay) context.writeUnsignedInputs(w, index + 1, inputCount, sequences);

  if (none) w.u8(0);
  else if (single) {
    writeCompactSize(w, index + 1);
    w.bytes(blankOutputs(index));
    context.writeOutput(w, index);
  } else {
    writeCompactSize(w, context.outputCount);
    context.writeOutputs(w);
  }
  w.u32(context.locktime);
  w.u32(hashType);
  return w.finish();
}

/** Placeholder of an output that is not signed: value -1 and an empty script. */
const BLANK_OUTPUT = Uint8Array.of(...new Array<number>(8).fill(0xff), 0);
let blanks: Uint8Array = new Uint8Array(0);

function blankOutputs(count: number): Uint8Array {
  const size = count * BLANK_OUTPUT.length;
  if (blanks.length < size) {
    blanks = new Uint8Array(size * 2);
    for (let at = 0; at < blanks.length; at += BLANK_OUTPUT.length) blanks.set(BLANK_OUTPUT, at);
  }
  return blanks.subarray(0, size);
}

/** Writes the script with its length, without OP_CODESEPARATORs. */
function writeScriptCode(w: ByteWriter, script: Uint8Array): void {
  const end = script.length;
  let separators = 0;
  let pos = 0;
  while (pos < end) {
    const next = operationEnd(script, pos, end);
    if (next < 0) break;
    if (script[pos] === Op.OP_CODESEPARATOR) separators++;
    pos = next;
  }
  writeCompactSize(w, end - separators);
  if (pos >= end && separators === 0) {
    w.bytes(script);
    return;
  }
  // If a push runs past the end, the bytes after its length are omitted, although the length counts them.
  const readable = pos >= end ? end : brokenPushData(script, pos);
  let from = 0;
  for (let at = 0; at < pos; ) {
    const next = operationEnd(script, at, end);
    if (script[at] === Op.OP_CODESEPARATOR) {
      w.bytes(script.subarray(from, at));
      from = next;
    }
    at = next;
  }
  if (from < readable) w.bytes(script.subarray(from, readable));
}

/**
 * Returns the position where decoding stops at the broken push at `pos`: after its length if that is complete, else
 * after the opcode.
 */
function brokenPushData(script: Uint8Array, pos: number): number {
  const start = pushStart(script[pos]!, pos);
  return start > script.length ? pos + 1 : start;
}
