import type { Amount } from '../primitives/amount.ts';
import { compactSizeLength } from '../primitives/compact-size.ts';
import type { Transaction, TxOutput } from '../primitives/transaction.ts';
import { isUnspendable, isWitnessProgram } from '../script/templates.ts';
import { feeForSize } from './feerate.ts';

/** Size of an output's value, bytes. */
const VALUE_SIZE = 8;
/** Size of outpoint, scriptSig length and sequence of the spending input, bytes. */
const INPUT_BASE_SIZE = 32 + 4 + 1 + 4;
/** Size of a signature and a compressed key with their pushes, which most inputs need, bytes. */
const SOLUTION_SIZE = 107;
/** Virtual size of the same in a witness, where a byte counts a quarter. */
const WITNESS_SOLUTION_SIZE = 26;

/**
 * Returns the dust threshold of an output, satoshis, at a feerate in satoshis per 1,000 vB (Core's GetDustThreshold).
 */
export function dustThreshold({ scriptPubKey }: Pick<TxOutput, 'scriptPubKey'>, dustFeerate: Amount): Amount {
  if (isUnspendable(scriptPubKey)) return 0n;
  const { length } = scriptPubKey;
  const solution = isWitnessProgram(scriptPubKey) ? WITNESS_SOLUTION_SIZE : SOLUTION_SIZE;
  const size = VALUE_SIZE + compactSizeLength(length) + length + INPUT_BASE_SIZE + solution;
  return feeForSize(dustFeerate, size);
}

export function isDust(output: TxOutput, dustFeerate: Amount): boolean {
  return output.value < dustThreshold(output, dustFeerate);
}

/** Returns the indexes of all dust outputs. */
export function dustOutputs({ outputs }: Pick<Transaction, 'outputs'>, dustFeerate: Amount): number[] {
  const dust: number[] = [];
  for (let vout = 0; vout < outputs.length; vout++) if (isDust(outputs[vout]!, dustFeerate)) dust.push(vout);
  return dust;
}
