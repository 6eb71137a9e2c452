import { ByteReader } from '../util/bytes.ts';
import { readCompactSize } from './compact-size.ts';

/** Receives the value of an output in satoshis, and its script as a view. */
type OutputVisitor = (value: number, script: Uint8Array) => void;

/** Size of outpoint and sequence, bytes. */
const OUTPOINT_SIZE = 36;
const SEQUENCE_SIZE = 4;
/** Size of the position before the value in an undo record, bytes. */
const POSITION_SIZE = 8;

/** Visits the outputs of an encoded transaction, which must be valid, without decoding the rest. */
export function visitOutputs(raw: Uint8Array, visit: OutputVisitor): void {
  const r = new ByteReader(raw, 4);
  let inputs = readCompactSize(r);
  // BIP-144: an empty list is the segwit marker, and the flags follow.
  if (inputs === 0) {
    r.skip(1);
    inputs = readCompactSize(r);
  }
  for (let i = 0; i < inputs; i++) {
    r.skip(OUTPOINT_SIZE);
    r.skip(readCompactSize(r));
    r.skip(SEQUENCE_SIZE);
  }
  for (let left = readCompactSize(r); left > 0; left--) visitOutput(r, visit);
}

/** Visits the spent outputs in the undo records of a transaction. */
export function visitSpentOutputs(spent: Uint8Array, visit: OutputVisitor): void {
  const r = new ByteReader(spent);
  while (r.remaining > 0) {
    r.skip(POSITION_SIZE);
    visitOutput(r, visit);
  }
}

function visitOutput(r: ByteReader, visit: OutputVisitor): void {
  // A valid value is below 2^53.
  const value = r.u32() + r.u32() * 2 ** 32;
  visit(value, r.bytes(readCompactSize(r)));
}
