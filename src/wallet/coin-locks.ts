import { parseTransaction } from '../primitives/block.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import { runInSlices, type Steps } from '../util/slices.ts';
import type { WalletStore } from './store/wallet-store.ts';
import type { Wallet } from './wallet.ts';
import { WalletError, walletFail } from './wallet-error.ts';

/**
 * Locks or unlocks coins in slices, all of them or none. Throws WalletError on a coin that cannot be locked or
 * unlocked.
 */
export async function lockCoins(
  wallet: Wallet,
  unlock: boolean,
  outpoints: readonly Outpoint[] | null,
  persistent: boolean,
): Promise<void> {
  const { store } = wallet;
  if (outpoints === null) {
    if (unlock) store.write(() => store.unlockAll({ persistent: true }));
    return;
  }
  await wallet.inSlices(checkLockable(wallet, outpoints, unlock, persistent));
  const steps = lock(store, outpoints, unlock, persistent);
  await runInSlices(steps, { signal: wallet.signal, around: (slice) => store.write(slice) });
}

function* lock(store: WalletStore, outpoints: readonly Outpoint[], unlock: boolean, persistent: boolean): Steps<void> {
  for (const outpoint of outpoints) {
    if (unlock) store.unlock(outpoint);
    else store.lock(outpoint, persistent);
    yield;
  }
}

function* checkLockable(
  wallet: Wallet,
  outpoints: readonly Outpoint[],
  unlock: boolean,
  persistent: boolean,
): Steps<void> {
  const { txs, reads } = wallet.store;
  /** Output counts by transaction: parsing a large transaction takes milliseconds. */
  const counts = new Map<number, number>();
  for (const outpoint of outpoints) {
    const tx = txs.byTxid(outpoint.txid);
    if (!tx) throw new WalletError('invalidParameter', 'Invalid parameter, unknown transaction');
    const count = counts.get(tx.id) ?? parseTransaction(txs.raw(tx.id)).tx.outputs.length;
    counts.set(tx.id, count);
    if (outpoint.vout >= count) walletFail('invalidParameter', 'Invalid parameter, vout index out of bounds');
    if (wallet.isSpent(outpoint)) walletFail('invalidParameter', 'Invalid parameter, expected unspent output');
    const locked = reads.isLocked(outpoint);
    if (unlock && !locked) walletFail('invalidParameter', 'Invalid parameter, expected locked output');
    if (!unlock && locked && !persistent) walletFail('invalidParameter', 'Invalid parameter, output already locked');
    yield;
  }
}
