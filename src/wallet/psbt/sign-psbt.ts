import { SEQUENCE_FINAL } from '../../consensus/limits.ts';
import { STANDARD_SCRIPT_FLAGS } from '../../policy/standard-inputs.ts';
import type { Txid } from '../../primitives/hash.ts';
import { NULL_VOUT } from '../../primitives/outpoint.ts';
import type { Transaction, TxOutput } from '../../primitives/transaction.ts';
import type { DecodedTxContext } from '../../script/decoded-tx-context.ts';
import { SIGHASH_ALL, SIGHASH_ANYONECANPAY, SIGHASH_DEFAULT } from '../../script/sighash-type.ts';
import { isPayToTaproot, witnessVersion } from '../../script/templates.ts';
import { verifyScript } from '../../script/verify.ts';
import { equalBytes } from '../../util/bytes.ts';
import { runSteps, type Steps } from '../../util/slices.ts';
import { NO_SIGNING_DATA, type SigningProvider } from '../keys/signing-data.ts';
import { produceSignature } from '../signing/produce-signature.ts';
import { contextOf } from '../signing/sign-transaction.ts';
import { dummyCreator, inputChecker, transactionCreator } from '../signing/signature-creator.ts';
import type { SignatureData } from '../signing/signature-data.ts';
import { knownTxidOf } from './known-txid.ts';
import type { Psbt, PsbtInput, PsbtOutput } from './psbt.ts';
import { inputSignatureData, inputWithData, outputSignatureData, outputWithData } from './psbt-signature-data.ts';
import { unsignedTx } from './unsigned-tx.ts';

/** Reason why an input could not be signed. */
export type PsbtErrorKind = 'missing-inputs' | 'sighash-mismatch' | 'incomplete' | 'invalid-tx';

/** Core's words. */
export const PSBT_ERROR_TEXTS: Readonly<Record<PsbtErrorKind, string>> = {
  'missing-inputs': 'Inputs missing or spent',
  'sighash-mismatch': 'Specified sighash value does not match value stored in PSBT',
  incomplete: 'Input needs additional signatures or other data',
  'invalid-tx': 'The transaction cannot be valid',
};

/** The transaction of a PSBT with its spent outputs, if they are known. */
export interface PsbtContext {
  readonly context: DecodedTxContext;
  readonly allSpentKnown: boolean;
}

/** Returns the spent output; null if it is unknown, or the whole transaction has another txid. */
export function utxoOf({ nonWitnessUtxo, witnessUtxo, prevout }: PsbtInput): TxOutput | null {
  if (nonWitnessUtxo === null) return witnessUtxo;
  const output = nonWitnessUtxo.outputs[prevout.vout];
  return output !== undefined && equalBytes(knownTxidOf(nonWitnessUtxo), prevout.txid) ? output : null;
}

/** Returns null if the inputs' locktimes contradict each other. */
export function psbtContext(psbt: Psbt): PsbtContext | null {
  return runSteps(psbtContextSteps(psbt));
}

/** Hashes whole transactions, one input per step. */
export function* psbtContextSteps(psbt: Psbt): Steps<PsbtContext | null> {
  const tx = unsignedTx(psbt);
  if (tx === null) return null;
  const spent: (TxOutput | null)[] = [];
  for (const input of psbt.inputs) {
    yield;
    spent.push(utxoOf(input));
  }
  return { context: contextOf(tx, spent), allSpentKnown: spent.every((output) => output !== null) };
}

export function isFinalized({ finalScriptSig, finalScriptWitness }: PsbtInput): boolean {
  return finalScriptSig !== null || finalScriptWitness !== null;
}

/** Whether the final scripts of an input are there and good. */
export function isSignedAndVerified({ context, allSpentKnown }: PsbtContext, input: PsbtInput, index: number): boolean {
  const utxo = utxoOf(input);
  if (utxo === null) return false;
  const scriptSig = input.finalScriptSig ?? new Uint8Array(0);
  const checker = inputChecker(context, index, allSpentKnown);
  const witness = input.finalScriptWitness ?? [];
  return verifyScript(scriptSig, utxo.scriptPubKey, witness, STANDARD_SCRIPT_FLAGS, checker) === 'OK';
}

export interface SignPsbtOptions {
  /** Sighash type of every signature; null for that of each input. */
  readonly sighashType?: number | null;
  /** Whether an input that has all gets its final scripts. */
  readonly finalize?: boolean;
  /** Whether to use dummy signatures, for measuring. */
  readonly dummy?: boolean;
}

/** Called before each input; may throw to cancel. */
export type OnInput = () => void;

const GO_ON: OnInput = () => {};

export interface SignedPsbtInput {
  /** The input with the data that was found. */
  readonly input: PsbtInput;
  /** Null if the input is complete. */
  readonly error: PsbtErrorKind | null;
  /** Found and missing data; null if nothing was attempted. */
  readonly data: SignatureData | null;
}

/** Signs one input as far as the provider can, and fills in what it knows. Core's SignPSBTInput. */
export function signPsbtInput(
  provider: SigningProvider,
  { context, allSpentKnown }: PsbtContext,
  original: PsbtInput,
  index: number,
  options: SignPsbtOptions = {},
): SignedPsbtInput {
  const { dummy = false, finalize = true } = options;
  const known = allSpentKnown && !dummy;
  if (isSignedAndVerified({ context, allSpentKnown: known }, original, index))
    return { input: original, error: null, data: null };
  const utxo = utxoOf(original);
  if (utxo === null) return { input: original, error: 'missing-inputs', data: null };

  const isTaproot = isPayToTaproot(utxo.scriptPubKey);
  const sighash = options.sighashType ?? (isTaproot ? SIGHASH_DEFAULT : SIGHASH_ALL);
  if (original.sighashType !== null && original.sighashType !== sighash)
    return { input: original, error: 'sighash-mismatch', data: null };
  const isUsual = sighash === SIGHASH_DEFAULT || (sighash === SIGHASH_ALL && !isTaproot);
  const input = isUsual ? original : { ...original, sighashType: sighash };
  if (!signaturesMatch(input, sighash)) return { input, error: 'sighash-mismatch', data: null };

  const data = inputSignatureData(input);
  const creator = dummy
    ? dummyCreator(false)
    : transactionCreator({ context, index, hashType: sighash, allSpentKnown });
  const complete = produceSignature(provider, creator, utxo.scriptPubKey, data);
  // An amount without its transaction may be wrong, which only segwit signatures detect.
  if (input.nonWitnessUtxo === null && !data.witness) return { input, error: 'incomplete', data: null };
  if (!finalize) data.complete = false;
  const filled = inputWithData(input, data);
  return {
    input: data.witness ? { ...filled, witnessUtxo: utxo } : filled,
    error: complete ? null : 'incomplete',
    data,
  };
}

/** Whether all signatures that are there have this hash type. */
function signaturesMatch(input: PsbtInput, sighash: number): boolean {
  const taproot = [...input.tapScriptSignatures.values()].map(({ signature }) => signature);
  if (input.tapKeySignature !== null) taproot.push(input.tapKeySignature);
  if (sighash === SIGHASH_DEFAULT) return taproot.every(({ length }) => length === 64);
  const others = [...input.partialSignatures.values()].map(({ signature }) => signature);
  return (
    taproot.every((signature) => signature.length === 65 && signature[64] === sighash) &&
    others.every((signature) => signature.at(-1) === sighash)
  );
}

/** Fills in what the provider knows about an output. Core's UpdatePSBTOutput. */
export function updatePsbtOutput(provider: SigningProvider, output: PsbtOutput): PsbtOutput {
  const { value, scriptPubKey } = output;
  const data = outputSignatureData(output);
  // A transaction that spends it and is filled in, not signed.
  const prevout = { txid: new Uint8Array(32) as Txid, vout: NULL_VOUT };
  const input = { prevout, scriptSig: new Uint8Array(0), sequence: SEQUENCE_FINAL, witness: [] };
  const context = contextOf({ version: 2, inputs: [input], outputs: [], locktime: 0 }, [{ value, scriptPubKey }]);
  const creator = transactionCreator({ context, index: 0, hashType: SIGHASH_ALL, allSpentKnown: false });
  produceSignature(provider, creator, scriptPubKey, data);
  return outputWithData(output, data);
}

/** Finalizes the complete inputs, one per step. `complete` says whether all are. */
export function* finalizePsbtSteps(psbt: Psbt): Steps<{ readonly psbt: Psbt; readonly complete: boolean }> {
  const context = yield* psbtContextSteps(psbt);
  if (context === null) return { psbt, complete: false };
  let complete = true;
  const inputs: PsbtInput[] = [];
  for (const [index, input] of psbt.inputs.entries()) {
    yield;
    const signed = signPsbtInput(NO_SIGNING_DATA, context, input, index, { sighashType: input.sighashType });
    if (signed.error !== null) complete = false;
    inputs.push(signed.input);
  }
  return { psbt: { ...psbt, inputs }, complete };
}

/** Finalizes without steps. */
export function finalizePsbt(psbt: Psbt, onInput = GO_ON): { readonly psbt: Psbt; readonly complete: boolean } {
  return runSteps(finalizePsbtSteps(psbt), onInput);
}

/** Returns the transaction of a PSBT whose inputs are all finalized; null if they are not or cannot be. */
export function* extractTransactionSteps(psbt: Psbt): Steps<Transaction | null> {
  const finalized = yield* finalizePsbtSteps(psbt);
  return finalized.complete ? finalTransaction(finalized.psbt) : null;
}

/** Returns the transaction of a PSBT that `finalizePsbt` has completed. */
export function finalTransaction(psbt: Psbt): Transaction | null {
  const tx = unsignedTx(psbt);
  if (tx === null) return null;
  const inputs = tx.inputs.map((input, i) => {
    const { finalScriptSig, finalScriptWitness } = psbt.inputs[i]!;
    return { ...input, scriptSig: finalScriptSig ?? input.scriptSig, witness: finalScriptWitness ?? [] };
  });
  return { ...tx, inputs };
}

/**
 * Removes whole transactions that are not needed because every input is segwit version 1 or later and signs everything.
 */
export function withoutNeedlessTransactions(psbt: Psbt): Psbt {
  const needless = psbt.inputs.every(({ witnessUtxo, sighashType }) => {
    const later = witnessUtxo !== null && witnessVersion(witnessUtxo.scriptPubKey) > 0;
    return later && ((sighashType ?? 0) & SIGHASH_ANYONECANPAY) === 0;
  });
  if (!needless) return psbt;
  return { ...psbt, inputs: psbt.inputs.map((input) => ({ ...input, nonWitnessUtxo: null })) };
}
