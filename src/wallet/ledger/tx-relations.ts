import { parseTransaction } from '../../primitives/block.ts';
import type { Txid } from '../../primitives/hash.ts';
import type { Transaction } from '../../primitives/transaction.ts';
import { equalBytes } from '../../util/bytes.ts';
import type { Steps } from '../../util/slices.ts';
import { TxStateCode } from '../store/wallet-schema.ts';
import type { WalletTxStore } from '../store/wallet-tx-store.ts';

/** Returns a transaction and the descendants that are inactive as well, each after its own descendants. */
export function* inactiveDescendants(txs: WalletTxStore, first: number): Steps<number[]> {
  const found: number[] = [];
  const done = new Set<number>();
  const todo = [{ id: first, expanded: false }];
  for (let next = todo.pop(); next; next = todo.pop()) {
    const { id, expanded } = next;
    if (expanded) {
      found.push(id);
      continue;
    }
    if (done.has(id)) continue;
    done.add(id);
    yield;
    const record = txs.findById(id);
    if (record?.state !== TxStateCode.INACTIVE) continue;
    todo.push({ id, expanded: true });
    const { outputs } = parseTransaction(txs.raw(id)).tx;
    for (let vout = 0; vout < outputs.length; vout++)
      for (const spender of txs.spenders({ txid: record.txid as Txid, vout }))
        todo.push({ id: spender, expanded: false });
  }
  return found;
}

/** Whether two transactions differ in their signatures alone. */
export function isEquivalentTo(a: Transaction, b: Transaction): boolean {
  return (
    a.version === b.version &&
    a.locktime === b.locktime &&
    a.inputs.length === b.inputs.length &&
    a.outputs.length === b.outputs.length &&
    a.inputs.every(
      ({ prevout, sequence }, i) =>
        sequence === b.inputs[i]!.sequence &&
        prevout.vout === b.inputs[i]!.prevout.vout &&
        equalBytes(prevout.txid, b.inputs[i]!.prevout.txid),
    ) &&
    a.outputs.every(
      ({ value, scriptPubKey }, i) =>
        value === b.outputs[i]!.value && equalBytes(scriptPubKey, b.outputs[i]!.scriptPubKey),
    )
  );
}
