import { parseTransaction } from '../primitives/block.ts';
import { hashToHex, type Txid } from '../primitives/hash.ts';
import type { Wallet } from './wallet.ts';
import { WalletError, walletFail } from './wallet-error.ts';

/**
 * Takes in a transaction that is known to be in a block of the chain, which the wallet does not look at again. `index` is
 * its place in the block; null where the block was not shown to hold it. Throws WalletError.
 */
export function importPrunedFunds(wallet: Wallet, raw: Uint8Array, blockHash: Uint8Array, index: number | null): void {
  const { store, sync, ledger, scripts, deps } = wallet;
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
  store.write(() => ledger.sync(parsed, { in: 'block', block: { height, hash, index, time } }));
  sync.watch(parsed);
}

/** Forgets a transaction, as if the wallet had never heard of it. Throws WalletError where it has not. */
export function removePrunedFunds({ store, ledger }: Wallet, txid: Uint8Array): void {
  const { txs } = store;
  const known =
    txs.byTxid(txid) ?? walletFail('wallet', `Transaction ${hashToHex(txid as Txid)} does not belong to this wallet`);
  store.write(() => {
    const { tx } = parseTransaction(txs.raw(known.id));
    // What spends its outputs spends nothing of ours any more.
    for (const { vout, value } of txs.coinsOf(known.id))
      for (const spender of txs.spenders({ txid: txid as Txid, vout })) txs.addDebit(spender, -value);
    txs.remove(known.id);
    ledger.refreshInputs(tx);
  });
}
