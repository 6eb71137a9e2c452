import { parseTransaction } from '../primitives/block.ts';
import { hashToHex, type Txid } from '../primitives/hash.ts';
import { addWhole, removeWhole, runWhole } from './ledger/whole-transaction.ts';
import type { Wallet } from './wallet.ts';
import { WalletError, walletFail } from './wallet-error.ts';

/**
 * Adds a transaction that is known to be in a block of the chain, which the wallet does not scan again. `index` is its
 * position in the block; null where the proof does not show it. Runs in slices: the outputs appear one after the other,
 * and after a crash the next start adds those that are missing. Throws WalletError.
 */
export async function importPrunedFunds(
  wallet: Wallet,
  raw: Uint8Array,
  blockHash: Uint8Array,
  index: number | null,
): Promise<void> {
  const { store, sync, scripts, deps } = wallet;
  const cursor = store.cursor();
  const last = cursor && deps.chain.get(cursor.hash);
  const block = deps.chain.get(blockHash);
  if (!block || !last || last.ancestor(block.height) !== block)
    throw new WalletError('invalidAddressOrKey', 'Block not found in chain');
  if (index === null) throw new WalletError('invalidAddressOrKey', "Transaction given doesn't exist in proof");
  const parsed = parseTransaction(raw);
  if (!parsed.tx.outputs.some(({ scriptPubKey }) => scripts.owns(scriptPubKey)))
    walletFail('invalidAddressOrKey', 'No addresses in wallet correspond to included transaction');
  const { height, hash, time } = block;
  sync.watchTransaction(parsed);
  const state = { in: 'block', block: { height, hash, index, time } } as const;
  await runWhole(wallet, addWhole(wallet, parsed, state), wallet.signal);
}

/**
 * Removes a transaction with its coins. Runs in slices, and after a crash the next start removes the rest. Throws
 * WalletError where the wallet does not have it.
 */
export async function removePrunedFunds(wallet: Wallet, txid: Uint8Array): Promise<void> {
  if (wallet.store.txs.byTxid(txid) === null)
    walletFail('wallet', `Transaction ${hashToHex(txid as Txid)} does not belong to this wallet`);
  await runWhole(wallet, removeWhole(wallet, txid), wallet.signal);
}
