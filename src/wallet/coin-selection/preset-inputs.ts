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
  /** Spent output; null if it is unknown. */
  readonly output: TxOutput | null;
  /** Weight of the signed input, as the user states it; null to compute it. */
  readonly weight: number | null;
  readonly size: InputSize | null;
  /** Sequence number; null for the default. */
  readonly sequence: number | null;
  /** Existing signature data. */
  readonly solution: ScriptSolution | null;
  /** Index among the inputs; null for any. */
  readonly position: number | null;
  /** Version of the unconfirmed wallet transaction that created the coin; null for other coins. */
  readonly unconfirmedVersion: number | null;
  /** Satoshis that bump its unconfirmed ancestors to the feerate of the transaction. */
  readonly bumpFee: Amount;
}

/** Returns the reason why a transaction of this version cannot have the inputs; null if it can. */
export function checkPresetInputs(inputs: readonly PresetInput[], txVersion: number): string | null {
  if (inputs.some(({ output }) => output === null)) return 'Unable to find UTXO for external input';
  for (const { outpoint, weight, size, unconfirmedVersion } of inputs) {
    const conflict = versionConflict(unconfirmedVersion, txVersion);
    if (conflict !== null) return conflict;
    if (weight === null && size === null) return `Not solvable pre-selected input ${outpointText(outpoint)}`;
  }
  return null;
}

/**
 * Returns the reason why an input cannot be spent; null if it can be. Unconfirmed coins of version 3 transactions are
 * spent only by version 3 transactions, and by these only such coins (BIP-431).
 */
export function versionConflict(unconfirmedVersion: number | null, txVersion: number): string | null {
  if (unconfirmedVersion === null || (unconfirmedVersion === TRUC_VERSION) === (txVersion === TRUC_VERSION))
    return null;
  return `Can't spend unconfirmed version ${unconfirmedVersion} pre-selected input with a version ${txVersion} tx`;
}

/** Core's short form of an outpoint. */
function outpointText({ txid, vout }: Outpoint): string {
  return `COutPoint(${hashToHex(txid).slice(0, 10)}, ${vout})`;
}

/** Returns the input with its fee. The input must have passed `checkPresetInputs`. */
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
    // A preset input is spent even if that wastes fees.
    longTermFee: 0n,
    effectiveValue: output.value - fee,
  };
}
