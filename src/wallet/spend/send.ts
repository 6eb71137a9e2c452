import { hashToHex } from '../../primitives/hash.ts';
import { type Transaction, transactionBytes, txidOf } from '../../primitives/transaction.ts';
import type { AsciiText } from '../../util/ascii-text.ts';
import { shuffled } from '../../util/random.ts';
import type { Steps } from '../../util/slices.ts';
import { FEE_REASON_TEXTS } from '../coin-selection/feerates.ts';
import { selectionRandom } from '../coin-selection/selection-random.ts';
import { encodePsbtBase64Steps } from '../psbt/encode.ts';
import { createPsbt, type Psbt, type PsbtVersion } from '../psbt/psbt.ts';
import { extractTransactionSteps } from '../psbt/sign-psbt.ts';
import type { Wallet } from '../wallet.ts';
import { walletFail } from '../wallet-error.ts';
import { ensureShortText } from '../wallet-text.ts';
import {
  commitTransaction,
  createTransactionSteps,
  ensureSigner,
  type SpendNotes,
  signOwn,
} from './create-transaction.ts';
import { type FilledPsbt, fillAndSign, fillPsbtSteps } from './fill-psbt.ts';
import { earlierSend, repeatableRequest } from './repeated-send.ts';
import type { SpendRequest } from './spend-request.ts';

export interface SentView {
  /** Display order. */
  readonly txid: string;
  /** Core's text for the source of the feerate; null where an earlier send is repeated. */
  readonly feeReason: string | null;
}

/** Texts that the caller stores with a payment. */
export interface PaymentNotes {
  readonly comment: string | null;
  readonly commentTo: string | null;
  /** A repeated call with this id sends nothing again. */
  readonly requestId: string | null;
}

/** Pays recipients and sends the transaction. Core's SendMoney. Throws WalletError. */
export async function sendMoney(wallet: Wallet, request: SpendRequest, notes: PaymentNotes): Promise<SentView> {
  const { requestId, ...texts } = notes;
  ensureShortText('comment', texts.comment);
  ensureShortText('comment_to', texts.commentTo);
  const earlier = earlierSend(wallet, requestId, request.recipients);
  if (earlier !== null) return { txid: earlier, feeReason: null };
  ensureSigner(wallet);
  const recipients = shuffled(request.recipients, selectionRandom());
  const built = await wallet.inSlices(createTransactionSteps(wallet, { ...request, recipients }));
  if (!built.ok) return walletFail('insufficientFunds', built.error);
  const { tx, errors } = await wallet.inSlices(signOwn(wallet, built.value.tx));
  if (errors.size > 0) walletFail('insufficientFunds', 'Signing transaction failed');
  lockInputs(wallet, request, tx);
  const txid = await commitTransaction(wallet, tx, {
    ...texts,
    request: repeatableRequest(requestId, request.recipients),
  });
  return { txid, feeReason: FEE_REASON_TEXTS[built.value.feeReason] };
}

/** An unsigned transaction with inputs and change added. */
export interface FundedView {
  readonly raw: Uint8Array;
  /** Satoshis. */
  readonly fee: number;
  /** -1 where there is no change. */
  readonly changePosition: number;
}

/** Adds inputs and change. Core's FundTransaction. Throws WalletError. */
export function* fundTransaction(
  wallet: Wallet,
  request: SpendRequest,
): Steps<FundedView & { readonly tx: Transaction }> {
  const built = yield* createTransactionSteps(wallet, request);
  if (!built.ok) return walletFail('wallet', built.error);
  const { tx, fee, changePosition } = built.value;
  lockInputs(wallet, request, tx);
  return { tx, raw: transactionBytes(tx), fee: Number(fee), changePosition: changePosition ?? -1 };
}

/** Form of the result. */
export interface FinishOptions {
  /** Whether to return a PSBT even of a complete transaction. */
  readonly psbt: boolean;
  readonly addToWallet: boolean;
}

export interface FinishedView {
  readonly psbt: AsciiText | null;
  readonly txid: string | null;
  /** Signed transaction, where it is not sent. */
  readonly raw: Uint8Array | null;
  readonly complete: boolean;
}

/** Signs as far as the wallet can and sends the transaction if it is complete. Core's FinishTransaction. */
export async function finishTransaction(
  wallet: Wallet,
  tx: Transaction,
  { psbt: asPsbt, addToWallet }: FinishOptions,
  notes: SpendNotes,
): Promise<FinishedView> {
  const { signed, extracted } = await signAsFarAsCan(wallet, tx);
  const complete = extracted !== null;
  const psbt = asPsbt || !complete || !addToWallet ? await wallet.inSlices(encodePsbtBase64Steps(signed.psbt)) : null;
  if (!extracted) return { psbt, txid: null, raw: null, complete };
  const txid = hashToHex(txidOf(extracted));
  if (!addToWallet || asPsbt) return { psbt, txid, raw: transactionBytes(extracted), complete };
  await commitTransaction(wallet, extracted, notes);
  return { psbt, txid, raw: null, complete };
}

async function signAsFarAsCan(
  wallet: Wallet,
  tx: Transaction,
): Promise<{ signed: FilledPsbt; extracted: Transaction | null }> {
  const filled = await wallet.inSlices(fillPsbtSteps(wallet, createPsbt(tx, 2), { sign: false, derivations: true }));
  const canSign = wallet.hasFlag('external_signer') || !wallet.hasFlag('disable_private_keys');
  const signed =
    wallet.vault.locked || !canSign
      ? filled
      : await fillAndSign(wallet, filled.psbt, { sign: true, derivations: false });
  return { signed, extracted: signed.complete ? await wallet.inSlices(extractTransactionSteps(signed.psbt)) : null };
}

/** Core's send. Throws WalletError. */
export async function sendPayment(
  wallet: Wallet,
  request: SpendRequest,
  options: FinishOptions,
  requestId: string | null,
): Promise<FinishedView> {
  const earlier = earlierSend(wallet, requestId, request.recipients);
  if (earlier !== null) return { psbt: null, txid: earlier, raw: null, complete: true };
  const repeatable = repeatableRequest(requestId, request.recipients);
  const { tx } = await wallet.inSlices(fundTransaction(wallet, request));
  return finishTransaction(wallet, tx, options, { comment: null, commentTo: null, request: repeatable });
}

/** Result of walletcreatefundedpsbt. */
export interface FundedPsbtView extends Omit<FundedView, 'raw'> {
  readonly psbt: AsciiText;
}

export function* createFundedPsbt(
  wallet: Wallet,
  request: SpendRequest,
  version: PsbtVersion,
  derivations: boolean,
): Steps<FundedPsbtView> {
  const { tx, fee, changePosition } = yield* fundTransaction(wallet, request);
  const { psbt } = yield* fillPsbtSteps(wallet, createPsbt(tx, version), { sign: false, derivations });
  return { psbt: yield* encodePsbtBase64Steps(psbt), fee, changePosition };
}

/** Returns the PSBT of an unsigned transaction with all data of the wallet. */
export function* psbtOf(wallet: Wallet, tx: Transaction, version: PsbtVersion): Steps<Psbt> {
  const { psbt } = yield* fillPsbtSteps(wallet, createPsbt(tx, version), { sign: false, derivations: true });
  return psbt;
}

/** Locks the coins of a transaction on request. */
export function lockInputs(wallet: Wallet, request: SpendRequest, tx: Transaction): void {
  if (!request.lockInputs) return;
  wallet.store.write(() => {
    for (const { prevout } of tx.inputs) wallet.store.lock(prevout, false);
  });
}
