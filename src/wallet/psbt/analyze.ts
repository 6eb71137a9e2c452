import { WITNESS_SCALE_FACTOR } from '../../consensus/limits.ts';
import { txSigopCost } from '../../consensus/sigops.ts';
import { feeratePerKvB } from '../../policy/feerate.ts';
import { STANDARD_SCRIPT_FLAGS } from '../../policy/standard-inputs.ts';
import { DEFAULT_BYTES_PER_SIGOP, virtualSize } from '../../policy/virtual-size.ts';
import { type Amount, isMoneyRange } from '../../primitives/amount.ts';
import { type Transaction, transactionBytes } from '../../primitives/transaction.ts';
import { isUnspendable } from '../../script/templates.ts';
import { NO_SIGNING_DATA } from '../keys/signing-data.ts';
import type { Psbt, PsbtInput } from './psbt.ts';
import {
  isSignedAndVerified,
  type OnInput,
  type PsbtContext,
  psbtContext,
  signPsbtInput,
  utxoOf,
} from './sign-psbt.ts';

/** Roles in the order of the work on a PSBT. */
const PSBT_ROLES = ['creator', 'updater', 'signer', 'finalizer', 'extractor'] as const;
type PsbtRole = (typeof PSBT_ROLES)[number];

interface InputAnalysis {
  readonly hasUtxo: boolean;
  readonly isFinal: boolean;
  readonly next: PsbtRole;
  /** HASH160s. */
  readonly missingKeys: readonly Uint8Array[];
  /** HASH160s of keys. */
  readonly missingSignatures: readonly Uint8Array[];
  /** HASH160. */
  readonly missingRedeemScript: Uint8Array | null;
  /** SHA-256. */
  readonly missingWitnessScript: Uint8Array | null;
}

export interface PsbtAnalysis {
  readonly inputs: readonly InputAnalysis[];
  readonly next: PsbtRole;
  readonly fee: Amount | null;
  readonly estimatedVsize: number | null;
  /** Satoshis per 1,000 vB. */
  readonly estimatedFeerate: Amount | null;
  /** Core's words; then nothing else is known. */
  readonly error: string | null;
}

function invalid(error: string): PsbtAnalysis {
  return { inputs: [], next: 'creator', fee: null, estimatedVsize: null, estimatedFeerate: null, error };
}

/** Returns the missing data of a PSBT, and the expected size and fee of its transaction. */
export function analyzePsbt(psbt: Psbt, onInput: OnInput = () => {}): PsbtAnalysis {
  const context = psbtContext(psbt);
  if (context === null) return invalid('PSBT cannot be made into a valid transaction');
  let valueIn = 0n;
  let allKnown = true;
  const analyses: InputAnalysis[] = [];
  const inputs: PsbtInput[] = [];
  for (const [i, input] of psbt.inputs.entries()) {
    onInput();
    const utxo = utxoOf(input);
    if (utxo === null) {
      if (input.nonWitnessUtxo !== null && input.prevout.vout >= input.nonWitnessUtxo.outputs.length)
        return invalid(`PSBT is not valid. Input ${i} specifies invalid prevout`);
      allKnown = false;
    } else {
      if (!isMoneyRange(utxo.value) || !isMoneyRange(valueIn + utxo.value))
        return invalid(`PSBT is not valid. Input ${i} has invalid value`);
      valueIn += utxo.value;
      if (isUnspendable(utxo.scriptPubKey)) return invalid(`PSBT is not valid. Input ${i} spends unspendable output`);
    }
    const { analysis, filled } = analyzeInput(context, input, i);
    analyses.push(analysis);
    inputs.push(filled);
  }
  const next = PSBT_ROLES.find((role) => analyses.some((analysis) => analysis.next === role)) ?? 'extractor';
  const unknown = { inputs: analyses, next, fee: null, estimatedVsize: null, estimatedFeerate: null, error: null };
  if (!allKnown) return unknown;
  const valueOut = sumInRange(psbt.outputs.map(({ value }) => value));
  if (valueOut === null) return invalid('PSBT is not valid. Output amount invalid');
  const fee = valueIn - valueOut;
  const vsize = estimateVsize(context, inputs, onInput);
  return {
    ...unknown,
    fee,
    estimatedVsize: vsize,
    estimatedFeerate: vsize === null ? null : feeratePerKvB({ fee, vsize }),
  };
}

function analyzeInput(
  context: PsbtContext,
  input: PsbtInput,
  index: number,
): { readonly analysis: InputAnalysis; readonly filled: PsbtInput } {
  const hasUtxo = utxoOf(input) !== null;
  const nothing = { missingKeys: [], missingSignatures: [], missingRedeemScript: null, missingWitnessScript: null };
  if (isSignedAndVerified(context, input, index))
    return { analysis: { hasUtxo, isFinal: true, next: 'extractor', ...nothing }, filled: input };
  const { input: filled, error, data } = signPsbtInput(NO_SIGNING_DATA, context, input, index);
  if (error === null) return { analysis: { hasUtxo, isFinal: false, next: 'finalizer', ...nothing }, filled };
  const missing = data ?? nothing;
  const { missingKeys, missingSignatures, missingRedeemScript, missingWitnessScript } = missing;
  const scripts = missingRedeemScript !== null || missingWitnessScript !== null;
  const onlySignatures = missingKeys.length === 0 && !scripts && missingSignatures.length > 0;
  return {
    analysis: {
      hasUtxo,
      isFinal: false,
      next: onlySignatures ? 'signer' : 'updater',
      missingKeys,
      missingSignatures,
      missingRedeemScript,
      missingWitnessScript,
    },
    filled,
  };
}

function sumInRange(values: readonly Amount[]): Amount | null {
  let sum = 0n;
  for (const value of values) {
    if (!isMoneyRange(value) || !isMoneyRange(sum + value)) return null;
    sum += value;
  }
  return sum;
}

/** Returns the virtual bytes of the signed transaction, from signing with dummies; null if that fails. */
function estimateVsize(context: PsbtContext, inputs: readonly PsbtInput[], onInput: OnInput): number | null {
  const { tx, spentOutputs } = context.context;
  const signed: Transaction['inputs'][number][] = [];
  for (const [i, input] of inputs.entries()) {
    onInput();
    const { input: filled, error } = signPsbtInput(NO_SIGNING_DATA, context, input, i, { dummy: true });
    if (error !== null) return null;
    const scriptSig = filled.finalScriptSig ?? new Uint8Array(0);
    signed.push({ ...tx.inputs[i]!, scriptSig, witness: filled.finalScriptWitness ?? [] });
  }
  const full = { ...tx, inputs: signed };
  const stripped = transactionBytes(full, { witness: false }).length;
  const weight = stripped * (WITNESS_SCALE_FACTOR - 1) + transactionBytes(full).length;
  const sigops = txSigopCost(full, spentOutputs, STANDARD_SCRIPT_FLAGS);
  return virtualSize(weight, sigops, DEFAULT_BYTES_PER_SIGOP);
}
