import type { Psbt, PsbtVersion } from './psbt.ts';
import { unsignedTx } from './unsigned-tx.ts';

/**
 * The same PSBT in the other version. From 2 to 0 the locktime is settled, and what version 0 has no place for is left
 * out; null where the inputs ask for contradicting locktimes.
 */
export function convertPsbt(psbt: Psbt, version: PsbtVersion): Psbt | null {
  if (psbt.version === version) return psbt;
  const tx = unsignedTx(psbt);
  if (tx === null) return null;
  return {
    ...psbt,
    version,
    fallbackLocktime: tx.locktime,
    modifiable: null,
    inputs: psbt.inputs.map((input, i) => ({
      ...input,
      sequence: tx.inputs[i]!.sequence,
      requiredTimeLocktime: null,
      requiredHeightLocktime: null,
    })),
  };
}
