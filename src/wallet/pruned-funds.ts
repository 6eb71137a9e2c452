import { type ParsedTransaction, parseTransaction } from '../primitives/block.ts';
import { hashToHex, type Txid } from '../primitives/hash.ts';
import { runInSlices, type Steps } from '../util/slices.ts';
import { type SeenState, seenStateOf } from './ledger/ledger.ts';
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
  sync.watch(parsed);
  await runWhole(wallet, addWhole(wallet, parsed, { in: 'block', block: { height, hash, index, time } }));
}

/**
 * Removes a transaction with its coins. Runs in slices, and after a crash the next start removes the rest. Throws
 * WalletError where the wallet does not have it.
 */
export async function removePrunedFunds(wallet: Wallet, txid: Uint8Array): Promise<void> {
  if (wallet.store.txs.byTxid(txid) === null)
    walletFail('wallet', `Transaction ${hashToHex(txid as Txid)} does not belong to this wallet`);
  await runWhole(wallet, removeWhole(wallet, txid));
}

/** Completes an addition or removal that a crash cut off. */
export function* completeUnfinished(wallet: Wallet): Steps<void> {
  const { store } = wallet;
  const unfinished = store.meta('unfinished');
  if (unfinished === null) return;
  const txid = Uint8Array.fromHex(unfinished.txid);
  const known = store.txs.byTxid(txid);
  if (known) {
    const steps = unfinished.remove
      ? removeWhole(wallet, txid)
      : addWhole(wallet, parseTransaction(store.txs.raw(known.id)), seenStateOf(known));
    while (!store.follow(() => steps.next()).done) yield;
  }
  finish(wallet);
}

async function runWhole(wallet: Wallet, steps: Steps<void>): Promise<void> {
  await runInSlices(steps, { signal: wallet.signal, around: (slice) => wallet.store.follow(slice) });
  finish(wallet);
}

/** A write waits for the disk, and for all slices before it. */
function finish({ store }: Wallet): void {
  store.write(() => store.setMeta('unfinished', null));
}

function* addWhole(wallet: Wallet, parsed: ParsedTransaction, state: SeenState): Steps<void> {
  begin(wallet, parsed.txid, false);
  yield* wallet.ledger.syncSteps(parsed, state);
}

function* removeWhole(wallet: Wallet, txid: Uint8Array): Steps<void> {
  const { store, ledger } = wallet;
  const { txs } = store;
  begin(wallet, txid, true);
  const { id } = txs.byTxid(txid)!;
  for (let coins = txs.somePaidBy(id); coins.length > 0; coins = txs.somePaidBy(id)) {
    // A transaction that spends them spends nothing of ours any more.
    for (const { vout, value } of coins)
      for (const spender of txs.spenders({ txid: txid as Txid, vout })) txs.addDebit(spender, -value);
    txs.removeCoins(id, coins.at(-1)!.vout);
    yield;
  }
  const { tx } = parseTransaction(txs.raw(id));
  txs.remove(id);
  ledger.refreshInputs(tx);
}

function begin({ store }: Wallet, txid: Uint8Array, remove: boolean): void {
  store.setMeta('unfinished', { txid: txid.toHex(), remove });
}
