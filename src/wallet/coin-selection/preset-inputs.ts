import { feeForSize } from '../../policy/feerate.ts';
import { TRUC_VERSION } from '../../policy/truc.ts';
import type { Amount } from '../../primitives/amount.ts';
import { hashToHex } from '../../primitives/hash.ts';
import type { Outpoint } from '../../primitives/outpoint.ts';
import type { TxOutput } from '../../primitives/transaction.ts';
import { type InputSize, maxInputVsize, vsizeOfWeight } from './input-size.ts';
import type { PricedCoin } from './wallet-coin.ts';

export interface ScriptSolution {
  readonly scriptSig: Uint8Array;
  readonly witness: readonly Uint8Array[];
}

/** An input that the user names. */
export interface PresetInput {
  readonly outpoint: Outpoint;
  /** Null where nothing is known of it. */
  readonly output: TxOutput | null;
  /** Weight of the signed input where the user gives it; null to compute it from its size. */
  readonly weight: number | null;
  readonly size: InputSize | null;
  /** Null for the usual one. */
  readonly sequence: number | null;
  /** Existing signature data. */
  readonly solution: ScriptSolution | null;
  /** Among the inputs; null for any. */
  readonly position: number | null;
  /** The version of its unconfirmed transaction in the wallet; null for others. */
  readonly unconfirmedVersion: number | null;
  /** Satoshis that lift its unconfirmed ancestors to the feerate of the transaction. */
  readonly bumpFee: Amount;
}

/** Null, or why the inputs cannot be in a transaction of this version. */
export function checkPresetInputs(inputs: readonly PresetInput[], txVersion: number): string | null {
  if (inputs.some(({ output }) => output === null)) return 'Unable to find UTXO for external input';
  for (const { outpoint, weight, size, unconfirmedVersion } of inputs) {
    const conflict = versionConflict(unconfirmedVersion, txVersion);
    if (conflict !== null) return conflict;
    if (weight === null && size === null) return `Not solvable pre-selected input ${outpointText(outpoint)}`;
  }
  return null;
}

/** Null, or why an input is not spent: until it is confirmed, what a version 3 made goes with its like alone (BIP-431). */
export function versionConflict(unconfirmedVersion: number | null, txVersion: number): string | null {
  if (unconfirmedVersion === null || (unconfirmedVersion === TRUC_VERSION) === (txVersion === TRUC_VERSION))
    return null;
  return `Can't spend unconfirmed version ${unconfirmedVersion} pre-selected input with a version ${txVersion} tx`;
}

/** Core's short form of an outpoint. */
function outpointText({ txid, vout }: Outpoint): string {
  return `COutPoint(${hashToHex(txid).slice(0, 10)}, ${vout})`;
}

/** Its cost at a feerate; the input must have passed the check. */
export function pricePresetInput(input: PresetInput, feerate: Amount): PricedCoin {
  const { outpoint, bumpFee, weight } = input;
  const output = input.output!;
  const inputVsize = weight === null ? maxInputVsize(input.size!) : vsizeOfWeight(weight);
  const fee = feeForSize(feerate, inputVsize) + bumpFee;
  return {
    outpoint,
    output,
    depth: 0,
    size: input.size,
    inputVsize,
    fromMe: false,
    bumpFee,
    fee,
    // It is in whatever it wastes.
    longTermFee: 0n,
    effectiveValue: output.value - fee,
  };
}
