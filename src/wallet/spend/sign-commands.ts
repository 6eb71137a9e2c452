import { type TxOutput, transactionBytes, transactionFromBytes } from '../../primitives/transaction.ts';
import type { AsciiText } from '../../util/ascii-text.ts';
import { DecodeError } from '../../util/bytes.ts';
import type { Steps } from '../../util/slices.ts';
import { signMessage } from '../keys/signed-message.ts';
import { decodePsbtBase64Steps } from '../psbt/decode-psbt.ts';
import { encodePsbtBase64Steps } from '../psbt/encode.ts';
import type { Psbt } from '../psbt/psbt.ts';
import { extractTransactionSteps } from '../psbt/sign-psbt.ts';
import { signTransactionSteps } from '../signing/sign-transaction.ts';
import type { Wallet } from '../wallet.ts';
import { walletFail } from '../wallet-error.ts';
import { whileUnlocked } from './create-transaction.ts';
import { type FilledPsbt, type FillOptions, fillAndSign } from './fill-psbt.ts';
import { ensureOwnOutputs } from './own-outputs.ts';
import { findOutputs, signingData, signingDataSteps } from './spendable.ts';

export interface ProcessedPsbtView {
  readonly psbt: AsciiText;
  readonly complete: boolean;
  /** The transaction, where it is complete. */
  readonly raw: Uint8Array | null;
}

/** Core's walletprocesspsbt. Throws WalletError. */
export async function processPsbtText(
  wallet: Wallet,
  text: string,
  options: FillOptions,
  signal: AbortSignal,
): Promise<ProcessedPsbtView> {
  const psbt = await wallet.inSlices(readPsbt(text), signal);
  if (options.sign) wallet.ensureUnlocked();
  const filled = await fillAndSign(wallet, psbt, options, signal);
  return wallet.inSlices(processedView(filled), signal);
}

function* processedView({ psbt, complete }: FilledPsbt): Steps<ProcessedPsbtView> {
  const tx = complete ? yield* extractTransactionSteps(psbt) : null;
  yield;
  const raw = tx && transactionBytes(tx);
  yield;
  return { psbt: yield* encodePsbtBase64Steps(psbt), complete, raw };
}

function* readPsbt(text: string): Steps<Psbt> {
  try {
    return yield* decodePsbtBase64Steps(text);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return walletFail('deserialization', `TX decode failed ${error.message}`);
  }
}

export interface SignedView {
  readonly raw: Uint8Array;
  readonly errors: readonly { readonly index: number; readonly error: string }[];
}

/** Signs with the wallet's keys; `given` are outputs that the caller describes, in the order of the inputs. */
export function* signRaw(
  wallet: Wallet,
  raw: Uint8Array,
  given: readonly (TxOutput | null)[],
  scripts: readonly Uint8Array[],
  hashType: number,
): Steps<SignedView> {
  wallet.ensureUnlocked();
  const tx = transactionFromBytes(raw);
  yield* ensureOwnOutputs(wallet, tx.outputs);
  const spent = yield* findOutputs(wallet, tx, given);
  using data = yield* signingDataSteps(
    wallet,
    spent.flatMap((output) => output?.scriptPubKey ?? []),
    true,
  );
  for (const script of scripts) data.addScript(script);
  const signed = yield* whileUnlocked(wallet, signTransactionSteps(tx, spent, data, hashType));
  return {
    raw: transactionBytes(signed.tx),
    errors: [...signed.errors].map(([index, error]) => ({ index, error })),
  };
}

/** Signs a message with the key of a script. Throws WalletError where the wallet does not have it. */
export function signOwnMessage(wallet: Wallet, script: Uint8Array, keyId: Uint8Array, message: string): string {
  wallet.ensureUnlockedAndSound();
  using data = signingData(wallet, [script], true);
  const key = data.privateKey(keyId);
  return key ? signMessage(key, message) : walletFail('wallet', 'Private key not available');
}
