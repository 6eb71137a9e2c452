import { sha256 } from '../../crypto/hash-functions.ts';
import { parseTransaction } from '../../primitives/block.ts';
import { hashFromHex, hashToHex, type Txid } from '../../primitives/hash.ts';
import { type Transaction, txidOf } from '../../primitives/transaction.ts';
import { equalBytes } from '../../util/bytes.ts';
import type { Recipient } from '../coin-selection/build-transaction.ts';
import { TxStateCode } from '../store/wallet-schema.ts';
import type { WalletTxRecord } from '../store/wallet-tx-reads.ts';
import type { Wallet } from '../wallet.ts';
import { walletFail } from '../wallet-error.ts';
import { ensureShortText } from '../wallet-text.ts';

/** A request id and the hash of its payment. */
export interface RepeatableRequest {
  readonly id: string;
  readonly payment: Uint8Array;
}

/** Returns null without an id. */
export function repeatableRequest(id: string | null, recipients: readonly Recipient[]): RepeatableRequest | null {
  return id === null ? null : { id, payment: paymentHash(recipients) };
}

/** Hashes recipients, amounts and who pays the fee. */
function paymentHash(recipients: readonly Recipient[]): Uint8Array {
  const lines = recipients.map(
    ({ scriptPubKey, value, subtractFee }) => `${scriptPubKey.toHex()} ${value}${subtractFee ? ' less the fee' : ''}`,
  );
  // The order of the outputs does not change the payment.
  return sha256(new TextEncoder().encode(`payment 1\n${lines.sort().join('\n')}`));
}

/**
 * Returns the txid of the payment that was made with this request id, in display order; after a fee bump that of the
 * replacement; null where there was none. Throws WalletError where the id belongs to another payment: answering with
 * its txid would leave the new payment unpaid without notice.
 */
export function earlierSend(wallet: Wallet, requestId: string | null, recipients: readonly Recipient[]): string | null {
  ensureShortText('request_id', requestId);
  const earlier = requestId === null ? null : wallet.store.requests.findRequest(requestId);
  if (earlier === null) return null;
  const first = wallet.store.txs.byTxid(hashFromHex<Txid>(earlier.txid));
  const same = earlier.payment
    ? equalBytes(earlier.payment, paymentHash(recipients))
    : !first || pays(wallet, first, recipients);
  const txid = first ? hashToHex(currentReplacement(wallet, first).txid as Txid) : earlier.txid;
  if (!same) walletFail('invalidParameter', `request_id was used for another payment, ${txid}`);
  return txid;
}

/** Records a fee bump that is returned as a PSBT, so that it is recognised once it is signed and sent. */
export function rememberBumpDraft(wallet: Wallet, original: Uint8Array, draft: Transaction): void {
  wallet.store.write(() => wallet.store.requests.addBumpDraft(original, unsignedTxid(draft)));
}

/** Returns the confirmed one of a transaction and its fee bumps, else the last one that may still confirm. */
function currentReplacement(wallet: Wallet, first: WalletTxRecord): WalletTxRecord {
  // An insertion-ordered work list, which visits each transaction of the wallet once.
  const versions = new Map([[first.id, first]]);
  for (const version of versions.values())
    for (const next of replacementsOf(wallet, version)) versions.set(next.id, next);
  return [...versions.values()].reduce((best, next) => {
    const [a, b] = [rank(best), rank(next)];
    return b > a || (b === a && next.id > best.id) ? next : best;
  });
}

function rank({ state }: WalletTxRecord): number {
  if (state === TxStateCode.CONFIRMED) return 2;
  return state === TxStateCode.MEMPOOL || state === TxStateCode.INACTIVE ? 1 : 0;
}

/** Returns the direct fee bumps of a transaction that the wallet knows. */
function replacementsOf({ store }: Wallet, { id, txid, replacedBy }: WalletTxRecord): WalletTxRecord[] {
  const { txs, requests } = store;
  const found = replacedBy && txs.byTxid(replacedBy);
  const drafts = requests.bumpDrafts(txid);
  const sent = drafts.length === 0 ? [] : txs.rivals(id).map((rival) => txs.byTxid(rival)!);
  const proposed = sent.filter((rival) => {
    const unsigned = unsignedTxid(parseTransaction(txs.raw(rival.id)).tx);
    return drafts.some((draft) => equalBytes(draft, unsigned));
  });
  return found ? [found, ...proposed] : proposed;
}

function unsignedTxid(tx: Transaction): Uint8Array {
  return txidOf({ ...tx, inputs: tx.inputs.map((input) => ({ ...input, scriptSig: new Uint8Array(0) })) });
}

/**
 * Comparison for payments of earlier versions without a stored hash: the outputs must be those of the recipients, with
 * or without change, and the missing amount must be the fee.
 */
function pays({ store }: Wallet, record: WalletTxRecord, recipients: readonly Recipient[]): boolean {
  const { inputs, outputs } = parseTransaction(store.txs.raw(record.id)).tx;
  const left = [...outputs];
  let missing = 0n;
  // Exact outputs first, so that none of them is taken for a recipient that paid the fee.
  for (const exact of [true, false])
    for (const { scriptPubKey, value, subtractFee } of recipients) {
      if (subtractFee === exact) continue;
      const found = left.findIndex(
        (output) =>
          equalBytes(output.scriptPubKey, scriptPubKey) && (exact ? output.value === value : output.value < value),
      );
      if (found < 0) return false;
      missing += value - left[found]!.value;
      left.splice(found, 1);
    }
  if (left.length > 1) return false;
  if (missing === 0n) return true;
  // The wallet does not know the amounts of other wallets' inputs.
  if (!inputs.every(({ prevout }) => store.txs.coin(prevout))) return false;
  const fee = BigInt(record.debit) - outputs.reduce((sum, { value }) => sum + value, 0n);
  // Change below the dust limit pays a part of the fee.
  return left.length === 1 ? missing === fee : missing <= fee;
}
