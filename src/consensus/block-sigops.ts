import type { ParsedBlock } from '../primitives/block.ts';
import type { BlockColumns } from '../primitives/block-columns.ts';
import { SCRIPT_FLAGS, type ScriptFlags } from '../script/flags.ts';
import { WITNESS_V0_KEYHASH_SIZE, WITNESS_V0_SCRIPTHASH_SIZE } from '../script/script-limits.ts';
import { countP2shSigops, countSigopsIn, countWitnessSigops } from '../script/templates.ts';
import { WITNESS_SCALE_FACTOR } from './limits.ts';

const OP_0 = 0;
const PAY_TO_SCRIPT_HASH_SIZE = 23;

/** Counts that were made; two checks of a block need them. */
const counted = new WeakMap<BlockColumns, Uint32Array>();

/**
 * Counts the signature operations in the scripts of each transaction of a block itself, as `legacySigops` does for one
 * transaction.
 */
export function blockSigops({ raw, columns }: ParsedBlock): Uint32Array {
  let counts = counted.get(columns);
  if (counts === undefined) {
    counts = countBlockSigops(raw, columns);
    counted.set(columns, counts);
  }
  return counts;
}

function countBlockSigops(raw: Uint8Array, columns: BlockColumns): Uint32Array {
  const { txCount, firstInput, firstOutput, scriptSigAt, sequenceAt, scriptAt, scriptEnd } = columns;
  const counts = new Uint32Array(txCount);
  for (let i = 0; i < txCount; i++) {
    let count = 0;
    for (let n = firstInput[i]!; n < firstInput[i + 1]!; n++)
      if (scriptSigAt[n] !== sequenceAt[n]) count += countSigopsIn(raw, scriptSigAt[n]!, sequenceAt[n]!, false);
    for (let n = firstOutput[i]!; n < firstOutput[i + 1]!; n++)
      count += countSigopsIn(raw, scriptAt[n]!, scriptEnd[n]!, false);
    counts[i] = count;
  }
  return counts;
}

/**
 * Returns the cost of the signature operations that spending an output adds for an input of a block, as `txSigopCost`
 * counts it. The script of the output is `spent` from `from` up to before `to`.
 */
export function inputSigopCost(
  { raw, columns }: ParsedBlock,
  input: number,
  { spent, from, to, flags }: { spent: Uint8Array; from: number; to: number; flags: ScriptFlags },
): number {
  const length = to - from;
  const itemAt = columns.lastItemAt[input]!;
  const itemEnd = columns.lastItemEnd[input]!;
  if (spent[from] === OP_0 && spent[from + 1]! + 2 === length) {
    if (!(flags & SCRIPT_FLAGS.WITNESS)) return 0;
    if (length === 2 + WITNESS_V0_KEYHASH_SIZE) return 1;
    return length === 2 + WITNESS_V0_SCRIPTHASH_SIZE ? countSigopsIn(raw, itemAt, itemEnd, true) : 0;
  }
  if (length !== PAY_TO_SCRIPT_HASH_SIZE) return 0;
  const script = spent.subarray(from, to);
  const scriptSig = raw.subarray(columns.scriptSigAt[input]!, columns.sequenceAt[input]!);
  const witness = itemEnd > 0 ? [raw.subarray(itemAt, itemEnd)] : [];
  const inRedeemScript = flags & SCRIPT_FLAGS.P2SH ? countP2shSigops(scriptSig, script) * WITNESS_SCALE_FACTOR : 0;
  return inRedeemScript + countWitnessSigops(scriptSig, script, witness, flags);
}
