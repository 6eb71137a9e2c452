import { isCoinbase, type Transaction, type TxOutput } from '../primitives/transaction.ts';
import { SCRIPT_FLAGS, type ScriptFlags } from '../script/flags.ts';
import { countP2shSigops, countSigops, countWitnessSigops } from '../script/templates.ts';
import { WITNESS_SCALE_FACTOR } from './limits.ts';

/** Counts the signature operations in the scripts of a transaction itself; a multisig counts as twenty. */
export function legacySigops({ inputs, outputs }: Transaction): number {
  let count = 0;
  for (const { scriptSig } of inputs) if (scriptSig.length > 0) count += countSigops(scriptSig, false);
  for (const { scriptPubKey } of outputs) count += countSigops(scriptPubKey, false);
  return count;
}

/** Returns the cost of a transaction's signature operations (BIP-141). `spentOutputs` are in input order. */
export function txSigopCost(tx: Transaction, spentOutputs: readonly TxOutput[], flags: ScriptFlags): number {
  let cost = legacySigops(tx) * WITNESS_SCALE_FACTOR;
  if (isCoinbase(tx)) return cost;
  for (let i = 0; i < tx.inputs.length; i++) {
    const { scriptSig, witness } = tx.inputs[i]!;
    const { scriptPubKey } = spentOutputs[i]!;
    if (flags & SCRIPT_FLAGS.P2SH) cost += countP2shSigops(scriptSig, scriptPubKey) * WITNESS_SCALE_FACTOR;
    cost += countWitnessSigops(scriptSig, scriptPubKey, witness, flags);
  }
  return cost;
}
