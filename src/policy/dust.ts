import type { Amount } from '../primitives/amount.ts';
import { compactSizeLength } from '../primitives/compact-size.ts';
import type { Transaction, TxOutput } from '../primitives/transaction.ts';
import { isUnspendable, isWitnessProgram } from '../script/templates.ts';
import { feeForSize } from './feerate.ts';

/** Bytes of an output before its script's length. */
const VALUE_SIZE = 8;
/** Outpoint, length of the scriptSig and sequence of the input that spends an output. */
const INPUT_BASE_SIZE = 32 + 4 + 1 + 4;
/** A signature and a compressed key with their pushes, which is what most inputs need. */
const SOLUTION_SIZE = 107;
/** The same in a witness, where a byte counts for a quarter. */
const WITNESS_SOLUTION_SIZE = 26;

/** Satoshis below which an output is not worth spending at a feerate in satoshis per 1,000 vB. */
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

/** The indexes of all outputs that are dust. */
export function dustOutputs({ outputs }: Pick<Transaction, 'outputs'>, dustFeerate: Amount): number[] {
  const dust: number[] = [];
  for (let vout = 0; vout < outputs.length; vout++) if (isDust(outputs[vout]!, dustFeerate)) dust.push(vout);
  return dust;
}
