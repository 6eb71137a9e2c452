import { STANDARD_SCRIPT_FLAGS } from '../../policy/standard-inputs.ts';
import { MAX_MONEY } from '../../primitives/amount.ts';
import type { Transaction, TxInput, TxOutput } from '../../primitives/transaction.ts';
import { DecodedTxContext } from '../../script/decoded-tx-context.ts';
import { type ScriptError, scriptErrorMessage } from '../../script/script-error.ts';
import { SIGHASH_ANYONECANPAY, SIGHASH_DEFAULT, SIGHASH_SINGLE } from '../../script/sighash-type.ts';
import { verifyScript } from '../../script/verify.ts';
import { runSteps, type Steps } from '../../util/slices.ts';
import { NO_SIGNING_DATA, type SigningProvider } from '../keys/signing-data.ts';
import { signatureDataOf } from './input-data.ts';
import { produceSignature } from './produce-signature.ts';
import { inputChecker, transactionCreator } from './signature-creator.ts';
import { mergeSignatureData, newSignatureData } from './signature-data.ts';

export interface SignedTransaction {
  readonly tx: Transaction;
  /** Core's texts of why inputs are not spendable yet, by input index. */
  readonly errors: ReadonlyMap<number, string>;
}

/** Stands for an unknown spent output. */
const UNKNOWN_OUTPUT: TxOutput = { value: -1n, scriptPubKey: new Uint8Array(0) };

/**
 * Signs the inputs that the provider has keys for and keeps signatures that are there. `spentOutputs` in the order of the
 * inputs, null where unknown. A coin worth all there can be stands for one whose amount is not known. An input is a step.
 */
export function* signTransactionSteps(
  tx: Transaction,
  spentOutputs: readonly (TxOutput | null)[],
  provider: SigningProvider,
  hashType: number = SIGHASH_DEFAULT,
): Steps<SignedTransaction> {
  const allSpentKnown = spentOutputs.every((output) => output !== null);
  const context = contextOf(tx, spentOutputs);
  const isSingle = (hashType & ~SIGHASH_ANYONECANPAY) === SIGHASH_SINGLE;
  const errors = new Map<number, string>();
  const sign = (input: TxInput, index: number): TxInput => {
    const spent = spentOutputs[index];
    if (!spent) {
      errors.set(index, 'Input not found or already spent');
      return input;
    }
    const data = signatureDataOf(context, index);
    // Without a matching output, a SIGHASH_SINGLE signature would be valid for any transaction.
    if (!isSingle || index < tx.outputs.length)
      produceSignature(
        provider,
        transactionCreator({ context, index, hashType, allSpentKnown }),
        spent.scriptPubKey,
        data,
      );
    const { scriptSig, scriptWitness: witness } = data;
    const signed = { ...input, scriptSig, witness };
    if (spent.value === MAX_MONEY && witness.length > 0) {
      errors.set(index, 'Missing amount');
      return signed;
    }
    if (data.complete) return signed;
    const checker = inputChecker(context, index, allSpentKnown);
    const error = verifyScript(scriptSig, spent.scriptPubKey, witness, STANDARD_SCRIPT_FLAGS, checker);
    if (error !== 'OK') errors.set(index, signingError(error));
    return signed;
  };
  const inputs: TxInput[] = [];
  for (const [index, input] of tx.inputs.entries()) {
    yield;
    inputs.push(sign(input, index));
  }
  return { tx: { ...tx, inputs }, errors };
}

/** Signs without steps. `onInput` is called before each input, and may throw to cancel. */
export function signTransaction(
  tx: Transaction,
  spentOutputs: readonly (TxOutput | null)[],
  provider: SigningProvider,
  hashType: number = SIGHASH_DEFAULT,
  onInput: () => void = () => {},
): SignedTransaction {
  return runSteps(signTransactionSteps(tx, spentOutputs, provider, hashType), onInput);
}

function signingError(error: ScriptError): string {
  if (error === 'INVALID_STACK_OPERATION') return 'Unable to sign input, invalid stack size (possibly missing key)';
  if (error === 'NULLFAIL') return 'CHECK(MULTI)SIG failing with non-zero signature (possibly need more signatures)';
  return scriptErrorMessage(error);
}

/**
 * Returns the first of several copies of a transaction with the signatures of all. `spentOutputs` must be known.
 * `onInput` is called before each input of each copy, and may throw to cancel.
 */
export function combineTransactions(
  copies: readonly Transaction[],
  spentOutputs: readonly TxOutput[],
  onInput: () => void = () => {},
): Transaction {
  const [first] = copies;
  const contexts = copies.map((copy) => new DecodedTxContext(copy, spentOutputs));
  const inputs = first!.inputs.map((input, index) => {
    let data = newSignatureData();
    for (const context of contexts) {
      onInput();
      if (index < context.tx.inputs.length) data = mergeSignatureData(data, signatureDataOf(context, index));
    }
    const creator = transactionCreator({
      context: contexts[0]!,
      index,
      hashType: SIGHASH_DEFAULT,
      allSpentKnown: false,
    });
    produceSignature(NO_SIGNING_DATA, creator, spentOutputs[index]!.scriptPubKey, data);
    return { ...input, scriptSig: data.scriptSig, witness: data.scriptWitness };
  });
  return { ...first!, inputs };
}

/** Returns a context with placeholders for unknown outputs, for which nothing must be signed. */
export function contextOf(tx: Transaction, spentOutputs: readonly (TxOutput | null)[]): DecodedTxContext {
  return new DecodedTxContext(
    tx,
    spentOutputs.map((output) => output ?? UNKNOWN_OUTPUT),
  );
}
