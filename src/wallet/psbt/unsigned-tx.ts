import { SEQUENCE_FINAL } from '../../consensus/limits.ts';
import type { Txid } from '../../primitives/hash.ts';
import { type Transaction, txidOf } from '../../primitives/transaction.ts';
import type { Psbt, PsbtInput } from './psbt.ts';

/**
 * Returns the locktime that the inputs of version 2 agree on, or the fallback if none requires one; null if some
 * require a height and others a time (BIP-370).
 */
export function psbtLocktime(psbt: Psbt): number | null {
  if (psbt.version === 2) {
    const required = requiredLocktime(psbt.inputs, 0, 0);
    if (required === null) return null;
    if (required > 0) return required;
  }
  return psbt.fallbackLocktime ?? 0;
}

/** Returns the greatest required height, or else the greatest required time, or 0; null if the inputs disagree. */
function requiredLocktime(
  inputs: readonly PsbtInput[],
  startHeight: number | null,
  startTime: number | null,
): number | null {
  let height = startHeight;
  let time = startTime;
  for (const { requiredHeightLocktime, requiredTimeLocktime } of inputs) {
    if (requiredTimeLocktime !== null && requiredHeightLocktime === null) {
      height = null;
      if (time === null) return null;
    } else if (requiredTimeLocktime === null && requiredHeightLocktime !== null) {
      time = null;
      if (height === null) return null;
    }
    if (requiredTimeLocktime !== null && time !== null) time = Math.max(time, requiredTimeLocktime);
    if (requiredHeightLocktime !== null && height !== null) height = Math.max(height, requiredHeightLocktime);
  }
  return height || time || 0;
}

/** Returns the transaction without signatures; null if the inputs' locktimes contradict each other. */
export function unsignedTx(psbt: Psbt): Transaction | null {
  const locktime = psbtLocktime(psbt);
  if (locktime === null) return null;
  return {
    version: psbt.txVersion,
    inputs: psbt.inputs.map(({ prevout, sequence }) => ({
      prevout,
      scriptSig: new Uint8Array(0),
      sequence: sequence ?? SEQUENCE_FINAL,
      witness: [],
    })),
    outputs: psbt.outputs.map(({ value, scriptPubKey }) => ({ value, scriptPubKey })),
    locktime,
  };
}

/**
 * Returns an id that PSBTs of the same transaction share whatever their sequences (BIP-370); null without a locktime.
 */
export function psbtUniqueId(psbt: Psbt): Txid | null {
  const tx = unsignedTx(psbt);
  if (tx === null) return null;
  if (psbt.version === 0) return txidOf(tx);
  return txidOf({ ...tx, inputs: tx.inputs.map((input) => ({ ...input, sequence: 0 })) });
}
