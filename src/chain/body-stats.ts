import type { ParsedBlock } from '../primitives/block.ts';
import { sumOutputs } from '../primitives/transaction.ts';
import type { BodyStats } from '../storage/header-store.ts';

/** The figures of a block that its body alone tells. */
export function bodyStats({ txs, strippedSize }: ParsedBlock): BodyStats {
  let inputs = 0;
  let outputs = 0;
  let valueOut = 0n;
  for (let i = 0; i < txs.length; i++) {
    const { tx } = txs[i]!;
    outputs += tx.outputs.length;
    if (i === 0) continue;
    inputs += tx.inputs.length;
    valueOut += sumOutputs(tx);
  }
  // Within one block the same coin may move many times, so that the sum may pass 2^53 and be rounded: a figure for people.
  return {
    txCount: txs.length,
    strippedSize,
    inputs,
    outputs,
    valueOut: Number(valueOut),
    reward: Number(sumOutputs(txs[0]!.tx)),
  };
}
