import { parseTransaction } from '../../primitives/block.ts';
import { hashFromHex, type Txid } from '../../primitives/hash.ts';
import type { TxOutput } from '../../primitives/transaction.ts';
import { equalBytes } from '../../util/bytes.ts';
import type { Recipient } from '../coin-selection/build-transaction.ts';
import type { Wallet } from '../wallet.ts';
import { walletFail } from '../wallet-error.ts';

/**
 * The txid of the payment that was made with this request id, in display order; null where there was none. Throws
 * WalletError where that one paid others, or other amounts: one of the two would silently not be paid.
 */
export function earlierSend(wallet: Wallet, requestId: string | null, recipients: readonly Recipient[]): string | null {
  const earlier = requestId === null ? null : wallet.store.request(requestId);
  if (earlier === null) return null;
  const { txs } = wallet.store;
  const record = txs.byTxid(hashFromHex<Txid>(earlier));
  if (record && !pays(parseTransaction(txs.raw(record.id)).tx.outputs, recipients))
    walletFail('invalidParameter', `request_id was used for another payment, ${earlier}`);
  return earlier;
}

/** Whether the outputs are those of the recipients, with change or without; who paid the fee got less. */
function pays(outputs: readonly TxOutput[], recipients: readonly Recipient[]): boolean {
  const left = [...outputs];
  // The exact ones first, so that none of them is taken for one that paid the fee.
  for (const exact of [true, false])
    for (const { scriptPubKey, value, subtractFee } of recipients) {
      if (subtractFee === exact) continue;
      const found = left.findIndex(
        (output) =>
          equalBytes(output.scriptPubKey, scriptPubKey) && (exact ? output.value === value : output.value <= value),
      );
      if (found < 0) return false;
      left.splice(found, 1);
    }
  return left.length <= 1;
}
