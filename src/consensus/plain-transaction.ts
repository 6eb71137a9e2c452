import type { ParsedBlock } from '../primitives/block.ts';
import { u32At } from '../primitives/block-columns.ts';
import { NULL_VOUT } from '../primitives/outpoint.ts';
import {
  COINBASE_SCRIPT_SIG_MAX,
  COINBASE_SCRIPT_SIG_MIN,
  MAX_BLOCK_WEIGHT,
  MAX_MONEY_NUMBER,
  WITNESS_SCALE_FACTOR,
} from './limits.ts';

/** Up to this many inputs, comparing all pairs is faster than sorting. */
const FEW_INPUTS = 16;

/** Whether a transaction of a block is a coinbase, as `isCoinbase`. */
export function isCoinbaseAt({ raw, columns }: ParsedBlock, i: number): boolean {
  const { firstInput, prevoutAt } = columns;
  const first = firstInput[i]!;
  if (firstInput[i + 1] !== first + 1) return false;
  const at = prevoutAt[first]!;
  if (u32At(raw, at + 32) !== NULL_VOUT) return false;
  for (let k = 0; k < 32; k++) if (raw[at + k] !== 0) return false;
  return true;
}

/**
 * Whether a transaction of a block certainly passes `checkTransaction`. The few others, valid ones among them, are left
 * to that function, which alone returns rejections.
 */
export function isPlainTransaction(block: ParsedBlock, i: number): boolean {
  const { raw, columns } = block;
  const { bodyAt, witnessAt, firstInput, firstOutput, value, scriptSigAt, sequenceAt } = columns;
  const input = firstInput[i]!;
  const inputEnd = firstInput[i + 1]!;
  const output = firstOutput[i]!;
  const outputEnd = firstOutput[i + 1]!;
  if (input === inputEnd || output === outputEnd) return false;
  // An upper bound of the size without witness.
  if ((witnessAt[i]! - bodyAt[i]! + 10) * WITNESS_SCALE_FACTOR > MAX_BLOCK_WEIGHT) return false;

  let total = 0;
  for (let n = output; n < outputEnd; n++) {
    const amount = value[n]!;
    if (!(amount >= 0 && amount <= MAX_MONEY_NUMBER)) return false;
    total += amount;
    if (total > MAX_MONEY_NUMBER) return false;
  }

  if (isCoinbaseAt(block, i)) {
    const length = sequenceAt[input]! - scriptSigAt[input]!;
    return length >= COINBASE_SCRIPT_SIG_MIN && length <= COINBASE_SCRIPT_SIG_MAX;
  }
  return hasDistinctPrevouts(raw, columns.prevoutAt.subarray(input, inputEnd));
}

/** Whether no two outpoints can be equal and none is null, by four bytes of each txid and the output index. */
function hasDistinctPrevouts(raw: Uint8Array, prevoutAt: Uint32Array): boolean {
  const count = prevoutAt.length;
  for (let n = 0; n < count; n++) if (u32At(raw, prevoutAt[n]! + 32) === NULL_VOUT) return false;
  if (count <= FEW_INPUTS) {
    for (let n = 1; n < count; n++)
      for (let m = 0; m < n; m++)
        if (
          u32At(raw, prevoutAt[n]!) === u32At(raw, prevoutAt[m]!) &&
          u32At(raw, prevoutAt[n]! + 32) === u32At(raw, prevoutAt[m]! + 32)
        )
          return false;
    return true;
  }
  // Four bytes of the txid plus the index, which is exact in a double: equal outpoints have equal keys.
  const keys = Float64Array.from(prevoutAt, (at) => u32At(raw, at) * 0x10_0000 + u32At(raw, at + 32)).sort();
  for (let n = 1; n < count; n++) if (keys[n] === keys[n - 1]) return false;
  return true;
}
