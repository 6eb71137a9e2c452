import { type ParsedTransaction, parseTransaction } from '../../primitives/block.ts';
import type { Txid } from '../../primitives/hash.ts';
import { runInSlices, type Steps } from '../../util/slices.ts';
import type { WalletStore } from '../store/wallet-store.ts';
import type { Ledger } from './ledger.ts';
import { locationOf, type TxLocation } from './tx-location.ts';

/** The rows of a wallet and the ledger that changes them. */
export interface WalletRows {
  readonly store: WalletStore;
  readonly ledger: Ledger;
}

/** Completes an addition or removal that a crash interrupted. */
export function* completeUnfinished(wallet: WalletRows): Steps<void> {
  const { store } = wallet;
  const unfinished = store.meta('unfinished');
  if (unfinished === null) return;
  const txid = Uint8Array.fromHex(unfinished.txid);
  const known = store.txs.byTxid(txid);
  if (known) {
    const steps = unfinished.remove
      ? removeWhole(wallet, txid)
      : addWhole(wallet, parseTransaction(store.txs.raw(known.id)), locationOf(known));
    while (!store.writeRelaxed(() => steps.next()).done) yield;
  }
  finish(wallet);
}

/** Runs the steps in slices, each in one transaction of the file. The result is durable when it resolves. */
export async function runWhole(wallet: WalletRows, steps: Steps<void>, signal: AbortSignal): Promise<void> {
  await runInSlices(steps, { signal, around: (slice) => wallet.store.writeRelaxed(slice) });
  finish(wallet);
}

/** This write is durable, and with it all slices before it. */
function finish({ store }: WalletRows): void {
  store.write(() => store.setMeta('unfinished', null));
}

/** Adds a transaction and all its outputs that pay the wallet. */
export function* addWhole(wallet: WalletRows, parsed: ParsedTransaction, state: TxLocation): Steps<void> {
  begin(wallet, parsed.txid, false);
  yield* wallet.ledger.syncSteps(parsed, state);
}

/** Removes a transaction of the wallet with its coins. */
export function* removeWhole(wallet: WalletRows, txid: Uint8Array): Steps<void> {
  const { store, ledger } = wallet;
  const { txs } = store;
  begin(wallet, txid, true);
  const { id } = txs.byTxid(txid)!;
  for (let coins = txs.somePaidBy(id); coins.length > 0; coins = txs.somePaidBy(id)) {
    // Transactions that spend these coins spend nothing of the wallet afterwards.
    for (const { vout, value } of coins)
      for (const spender of txs.spenders({ txid: txid as Txid, vout })) txs.addDebit(spender, -value);
    txs.removeCoins(id, coins.at(-1)!.vout);
    yield;
  }
  const { tx } = parseTransaction(txs.raw(id));
  txs.removeTransaction(id);
  ledger.refreshInputs(tx);
}

function begin({ store }: WalletRows, txid: Uint8Array, remove: boolean): void {
  store.setMeta('unfinished', { txid: txid.toHex(), remove });
}
