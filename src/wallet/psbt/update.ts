import type { Txid } from '../../primitives/hash.ts';
import type { Outpoint } from '../../primitives/outpoint.ts';
import type { Transaction, TxOutput } from '../../primitives/transaction.ts';
import { isPayToScriptHash, isWitnessProgram } from '../../script/templates.ts';
import type { Result } from '../../util/result.ts';
import { runSteps, type Steps } from '../../util/slices.ts';
import type { SigningProvider } from '../keys/signing-data.ts';
import type { Psbt, PsbtInput, PsbtOutput } from './psbt.ts';
import {
  isFinalized,
  type OnInput,
  PSBT_ERROR_TEXTS,
  psbtContextSteps,
  type SignPsbtOptions,
  signPsbtInput,
  updatePsbtOutput,
  withoutNeedlessTransactions,
} from './sign-psbt.ts';

/** Lookup of spent outputs. */
export interface UtxoLookup {
  /** Looks up a transaction in the mempool and the transaction index. */
  transaction(txid: Txid): Transaction | null;
  /** Looks up a coin. */
  coin(outpoint: Outpoint): TxOutput | null;
}

/** Returns the scripts and keys for an input or output; for an input possibly before its output is known. */
export type ProviderOf = (place: PsbtInput | PsbtOutput) => SigningProvider;

/**
 * Fills in what is spent and what the provider knows of scripts and keys, and signs with the private keys it has.
 * BIP-174's updater, and signer where the provider is one. Errors are Core's. An input or output is a step.
 */
export function* processPsbtSteps(
  psbt: Psbt,
  lookup: UtxoLookup,
  provider: SigningProvider | ProviderOf,
  options: SignPsbtOptions,
): Steps<Result<Psbt, { readonly error: string }>> {
  const providerOf = typeof provider === 'function' ? provider : () => provider;
  const known: PsbtInput[] = [];
  for (const input of psbt.inputs) {
    yield;
    known.push(withUtxo(input, lookup, providerOf));
  }
  const found = { ...psbt, inputs: known };
  yield;
  const context = yield* psbtContextSteps(found);
  if (context === null) return { ok: false, error: PSBT_ERROR_TEXTS['invalid-tx'] };
  const inputs: PsbtInput[] = [];
  for (const [index, input] of found.inputs.entries()) {
    yield;
    if (isFinalized(input)) {
      inputs.push(input);
      continue;
    }
    const signed = signPsbtInput(providerOf(input), context, input, index, options);
    // A signature of another sighash type than requested would be worse than none.
    if (signed.error === 'sighash-mismatch') return { ok: false, error: PSBT_ERROR_TEXTS[signed.error] };
    inputs.push(signed.input);
  }
  const outputs: PsbtOutput[] = [];
  for (const output of found.outputs) {
    yield;
    outputs.push(updatePsbtOutput(providerOf(output), output));
  }
  return { ok: true, value: withoutNeedlessTransactions({ ...found, inputs, outputs }) };
}

/** Processes without steps. `onInput` is called at every step, and may throw to cancel. */
export function processPsbt(
  psbt: Psbt,
  lookup: UtxoLookup,
  provider: SigningProvider | ProviderOf,
  options: SignPsbtOptions,
  onInput: OnInput = () => {},
): Result<Psbt, { readonly error: string }> {
  return runSteps(processPsbtSteps(psbt, lookup, provider, options), onInput);
}

function withUtxo(input: PsbtInput, lookup: UtxoLookup, providerOf: ProviderOf): PsbtInput {
  if (input.nonWitnessUtxo !== null) return input;
  const nonWitnessUtxo = lookup.transaction(input.prevout.txid);
  if (nonWitnessUtxo !== null) return { ...input, nonWitnessUtxo };
  const coin = lookup.coin(input.prevout);
  if (coin === null) return input;
  const found = { ...input, witnessUtxo: coin };
  return isSegwitOutput(providerOf(found), coin.scriptPubKey) ? found : input;
}

/** Whether a witness spends the output, as far as the provider knows the script of P2SH. */
function isSegwitOutput(provider: SigningProvider, scriptPubKey: Uint8Array): boolean {
  if (isWitnessProgram(scriptPubKey)) return true;
  const redeemScript = isPayToScriptHash(scriptPubKey) ? provider.script(scriptPubKey.subarray(2, 22)) : null;
  return redeemScript !== null && isWitnessProgram(redeemScript);
}
