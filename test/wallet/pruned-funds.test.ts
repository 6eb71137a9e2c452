import { describe, expect, test } from 'bun:test';
import type { ChainEntry } from '../../src/chain/chain-entry.ts';
import type { ParsedTransaction } from '../../src/primitives/block.ts';
import type { Txid } from '../../src/primitives/hash.ts';
import type { Outpoint } from '../../src/primitives/outpoint.ts';
import { importPrunedFunds, removePrunedFunds } from '../../src/wallet/pruned-funds.ts';
import { balancesOf } from '../../src/wallet/read/balances.ts';
import { WalletView } from '../../src/wallet/read/wallet-view.ts';
import { parsed, WalletFixture } from './wallet-fixture.ts';

const OUTSIDE: Outpoint = { txid: new Uint8Array(32).fill(1) as Txid, vout: 0 };

function pay(prevout: Outpoint, script: Uint8Array, value: bigint): ParsedTransaction {
  const input = { prevout, scriptSig: new Uint8Array(0), sequence: 0, witness: [] };
  return parsed({ version: 2, locktime: 0, inputs: [input], outputs: [{ value, scriptPubKey: script }] });
}

function connect({ chain, wallet }: WalletFixture, txs: readonly ParsedTransaction[]): ChainEntry {
  const entry = chain.make(chain.tip, txs);
  chain.tip = entry;
  wallet.sync.onChainMoved({ disconnected: [], connected: [entry], bodies: [chain.bodies.get(entry)!], tip: entry });
  return entry;
}

/** Returns the balance, which the running total and the coins must agree on. */
function trusted({ wallet }: WalletFixture): number {
  const view = new WalletView(wallet.store.reads);
  const of = (avoidReuse: boolean) => {
    const { trusted: sum, used } = balancesOf(view, { minDepth: 0, avoidReuse, includeNonMempool: false });
    return sum + used;
  };
  expect(of(true)).toBe(of(false));
  return of(false);
}

describe('pruned funds', () => {
  test('a transaction that pays the wallet is removed and imported again, beside its spenders', async () => {
    using it = new WalletFixture();
    const first = pay(OUTSIDE, it.script(), 1000n);
    const second = pay({ txid: first.txid, vout: 0 }, it.script(), 900n);
    const third = pay({ txid: second.txid, vout: 0 }, it.script(), 800n);
    const blocks = [first, second, third].map((tx) => connect(it, [tx]));
    const { txs } = it.wallet.store;
    const all = () => it.wallet.store.reads.allTransactions().map(({ txid, debit }) => [txid.toHex(), debit]);
    const before = all();
    expect(trusted(it)).toBe(800);

    await removePrunedFunds(it.wallet, second.txid);
    expect(txs.byTxid(second.txid)).toBeNull();
    // The first is unspent again, and the third spends nothing of the wallet.
    expect(trusted(it)).toBe(1800);
    expect(txs.byTxid(third.txid)!.debit).toBe(0);
    await expect(removePrunedFunds(it.wallet, second.txid)).rejects.toThrow('does not belong to this wallet');

    await importPrunedFunds(it.wallet, second.raw, blocks[1]!.hash, 0);
    expect(trusted(it)).toBe(800);
    expect(all().toSorted()).toEqual(before.toSorted());
    expect(txs.byTxid(second.txid)).toMatchObject({ height: 2, blockHash: blocks[1]!.hash, blockIndex: 0 });

    for (const tx of [third, first, second]) await removePrunedFunds(it.wallet, tx.txid);
    expect(all()).toEqual([]);
    expect(trusted(it)).toBe(0);
    expect(it.wallet.store.reads.receivedCount()).toBe(0);
  });

  test('a reorg disconnects the block of an imported transaction', async () => {
    using it = new WalletFixture();
    const tx = pay(OUTSIDE, it.script(), 1000n);
    const genesis = it.chain.tip;
    const block = it.chain.make(genesis, []);
    it.chain.tip = block;
    it.wallet.sync.onChainMoved({
      disconnected: [],
      connected: [block],
      bodies: [it.chain.bodies.get(block)!],
      tip: block,
    });
    await expect(importPrunedFunds(it.wallet, tx.raw, it.chain.make(genesis, []).hash, 0)).rejects.toThrow(
      'Block not found in chain',
    );
    await importPrunedFunds(it.wallet, tx.raw, block.hash, 0);
    expect(trusted(it)).toBe(1000);
    it.chain.tip = genesis;
    it.wallet.sync.onChainMoved({ disconnected: [block], connected: [], bodies: [], tip: genesis });
    expect(trusted(it)).toBe(0);
    const rival = pay(OUTSIDE, Uint8Array.of(0x51), 1000n);
    connect(it, [rival]);
    expect(it.wallet.store.txs.byTxid(tx.txid)!.height).toBe(1);
  });

  test('a restart completes an addition and a removal that a crash interrupted', async () => {
    using it = new WalletFixture();
    const own = it.script();
    const OUTPUTS = 5000;
    const outputs = Array.from({ length: OUTPUTS }, () => ({ value: 10n, scriptPubKey: own }));
    const input = { prevout: OUTSIDE, scriptSig: new Uint8Array(0), sequence: 0, witness: [] };
    const tx = parsed({ version: 2, locktime: 0, inputs: [input], outputs });
    const spender = pay({ txid: tx.txid, vout: 3 }, Uint8Array.of(0x51), 10n);
    const block = connect(it, []);
    /** Lets so many slices pass, then the wallet ends as with a crash: its file is as the last slice left it. */
    const cutOff = async (work: () => Promise<void>) => {
      const done = work();
      done.catch(() => {});
      const { reads } = it.wallet.store;
      while (reads.receivedCount() % OUTPUTS === 0) await new Promise(setImmediate);
      await it.reopen();
      await expect(done).rejects.toThrow();
    };
    await cutOff(() => importPrunedFunds(it.wallet, tx.raw, block.hash, 0));
    expect(it.wallet.store.reads.receivedCount()).toBe(OUTPUTS);
    expect(trusted(it)).toBe(10 * OUTPUTS);
    expect(it.wallet.store.meta('unfinished')).toBeNull();
    const seen = { height: 1, hash: block.hash, index: 1, time: 0 };
    it.wallet.store.write(() => it.wallet.ledger.syncTransaction(spender, { in: 'block', block: seen }));
    expect(it.wallet.store.txs.byTxid(spender.txid)!.debit).toBe(10);
    await cutOff(() => removePrunedFunds(it.wallet, tx.txid));
    expect(it.wallet.store.reads.receivedCount()).toBe(0);
    expect(it.wallet.store.txs.byTxid(tx.txid)).toBeNull();
    expect(it.wallet.store.txs.byTxid(spender.txid)!.debit).toBe(0);
    expect(trusted(it)).toBe(0);
    expect(it.wallet.store.meta('unfinished')).toBeNull();
  });
});
