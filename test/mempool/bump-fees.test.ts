import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { bumpFees, type ClusterTx, minedPackages } from '../../src/mempool/bump-fees.ts';
import type { Outpoint } from '../../src/primitives/outpoint.ts';
import { type Transaction, txidOf } from '../../src/primitives/transaction.ts';
import { chainWithCoins } from '../lib/chain-builder.ts';
import { TestMempool } from '../lib/mempool-fixture.ts';
import { coinOf, spend, type TestCoin } from '../lib/tx-builder.ts';

// The cases of Core's miniminer_tests, with its fees: 500, 5,000 and 100,000 satoshis.
const LOW = 500;
const MEDIUM = 5000;
const HIGH = 100_000;
const FEERATES = [0n, 500n, 999n, 1000n, 2000n, 2500n, 3333n, 7800n, 11_199n, 23_330n, 50_000n, 5_000_000n];

const chain = chainWithCoins(8, 'p2wpkh');

/** Spends coins into this number of equal outputs. */
function make(coins: readonly TestCoin[], outputs: number, fee: number): Transaction {
  const left = coins.reduce((sum, { output }) => sum + output.value, 0n) - BigInt(fee);
  const each = left / BigInt(outputs);
  return spend(
    coins,
    Array.from({ length: outputs }, (_, i) => ({
      to: 'p2wpkh' as const,
      value: i === 0 ? left - each * BigInt(outputs - 1) : each,
    })),
  );
}

const out = (tx: Transaction, vout: number): Outpoint => ({ txid: txidOf(tx), vout });
/** Satoshis for bytes at a feerate, rounded up. */
const cost = (feerate: bigint, vsize: number) => (feerate * BigInt(vsize) + 999n) / 1000n;

class Pool {
  readonly pool: TestMempool;

  constructor(pool: TestMempool) {
    this.pool = pool;
  }

  async add(coins: readonly TestCoin[], outputs: number, fee: number): Promise<Transaction> {
    const tx = make(coins, outputs, fee);
    expect(await this.pool.reason(tx)).toBe('accepted');
    return tx;
  }

  each(outpoints: readonly Outpoint[], feerate: bigint): readonly bigint[] {
    return bumpFees(this.pool.mempool, outpoints, feerate).each;
  }

  together(outpoints: readonly Outpoint[], feerate: bigint): bigint {
    return bumpFees(this.pool.mempool, outpoints, feerate).together;
  }

  vsize(...txs: readonly Transaction[]): number {
    const { entries } = this.pool.mempool;
    return txs.reduce((sum, tx) => sum + entries.vsize(entries.find(txidOf(tx))), 0);
  }

  /** Returns what transactions with these fees lack to reach a feerate. */
  lacking(feerate: bigint, fees: number, ...txs: readonly Transaction[]): bigint {
    return cost(feerate, this.vsize(...txs)) - BigInt(fees);
  }
}

describe('bump fees of parents with a child each', () => {
  let it: Pool;
  let txs: Transaction[];
  const delta = 10_000;
  beforeAll(async () => {
    it = new Pool(await TestMempool.on(chain));
    txs = [];
    const fees = [MEDIUM, MEDIUM, LOW, HIGH, LOW, LOW, HIGH, LOW];
    for (let pair = 0; pair < 4; pair++) {
      const parent = await it.add([chain.coin(pair + 1)], 2, fees[pair * 2]!);
      txs.push(parent, await it.add([coinOf(parent, 0)], 1, fees[pair * 2 + 1]!));
    }
    it.pool.mempool.prioritise(txidOf(txs[5]!), delta);
  });
  afterAll(() => it.pool[Symbol.asyncDispose]());

  const unspent = () => txs.map((tx, i) => out(tx, i % 2 === 0 ? 1 : 0));
  const either = (missing: bigint) => (missing > 0n ? missing : 0n);

  test('coins outside the mempool need no bump fee', () => {
    const nowhere = [0, 3].map((vout) => ({ txid: new Uint8Array(32).fill(7 + vout) as Outpoint['txid'], vout }));
    for (const feerate of FEERATES) {
      expect(it.each([...nowhere, chain.coin(8).outpoint], feerate)).toEqual([0n, 0n, 0n]);
      expect(it.together(nowhere, feerate)).toBe(0n);
    }
  });

  test.each(FEERATES)('unspent coins need their ancestors raised to feerate %s', (feerate) => {
    const fees = it.each(unspent(), feerate);
    // The first parent has no paying child; those of the second and third raise them while they pay enough for both.
    expect(fees[0]).toBe(either(it.lacking(feerate, MEDIUM, txs[0]!)));
    for (const [parent, own, childs] of [
      [2, LOW, HIGH],
      [4, LOW, LOW + delta],
    ] as const) {
      const helped = it.lacking(feerate, own + childs, txs[parent]!, txs[parent + 1]!) <= 0n;
      expect(fees[parent]).toBe(helped ? 0n : it.lacking(feerate, own, txs[parent]!));
    }
  });

  test.each(FEERATES)(
    'spent coins at feerate %s: their spender is assumed to be replaced and contributes nothing',
    (feerate) => {
      const parents = [0, 2, 4, 6].map((i) => txs[i]!);
      const lone = [MEDIUM, LOW, LOW, HIGH].map((fee, i) => either(it.lacking(feerate, fee, parents[i]!)));
      const spent = it.each(
        parents.map((tx) => out(tx, 0)),
        feerate,
      );
      expect(spent).toEqual(lone);
      const both = it.each(
        parents.flatMap((tx) => [out(tx, 0), out(tx, 1)]),
        feerate,
      );
      expect(both).toEqual(lone.flatMap((fee) => [fee, fee]));
    },
  );

  test('a coin of a replaced transaction needs no bump fee', () => {
    expect(it.each([out(txs[0]!, 0), out(txs[1]!, 0)], 5_000_000n)[1]).toBe(0n);
  });

  test('a negative modified fee must be made good even at a feerate of zero', async () => {
    const tx = await it.add([chain.coin(5)], 1, 1000);
    it.pool.mempool.prioritise(txidOf(tx), -50_000);
    expect(it.each([out(tx, 0)], 0n)).toEqual([49_000n]);
  });
});

describe('bump fees of overlapping ancestors', () => {
  let it: Pool;
  let txs: Transaction[];
  beforeAll(async () => {
    it = new Pool(await TestMempool.on(chain));
    const first = await it.add([chain.coin(1)], 2, LOW);
    const second = await it.add([chain.coin(2)], 2, MEDIUM);
    const third = await it.add([chain.coin(3)], 2, HIGH);
    const child = await it.add([coinOf(first, 0), coinOf(second, 0), coinOf(third, 0)], 3, HIGH);
    const grandparent = await it.add([chain.coin(4)], 2, HIGH);
    const parent = await it.add([coinOf(grandparent, 0)], 3, LOW);
    const [six, seven] = [await it.add([coinOf(parent, 0)], 2, MEDIUM), await it.add([coinOf(parent, 1)], 2, HIGH)];
    txs = [first, second, third, child, grandparent, parent, six, seven];
  });
  afterAll(() => it.pool[Symbol.asyncDispose]());

  const unspent = () =>
    [
      [0, 1],
      [1, 1],
      [2, 1],
      [3, 0],
      [3, 1],
      [3, 2],
      [4, 1],
      [5, 2],
      [6, 0],
      [7, 0],
    ].map(([tx, vout]) => out(txs[tx!]!, vout!));
  const lacking = (feerate: bigint, fees: number, ...which: number[]) =>
    it.lacking(feerate, fees, ...which.map((i) => txs[i]!));

  test('at an extreme feerate every coin pays for all ancestors, and shared ancestors are paid once', () => {
    const feerate = 100_000_000n;
    const fees = it.each(unspent(), feerate);
    const ofChild = lacking(feerate, LOW + MEDIUM + 2 * HIGH, 0, 1, 2, 3);
    expect(fees[0]).toBe(lacking(feerate, LOW, 0));
    expect(fees.slice(3, 6)).toEqual([ofChild, ofChild, ofChild]);
    expect(fees[8]).toBe(lacking(feerate, HIGH + LOW + MEDIUM, 4, 5, 6));
    expect(fees[9]).toBe(lacking(feerate, HIGH + LOW + HIGH, 4, 5, 7));
    expect(it.together([out(txs[3]!, 0), out(txs[3]!, 1)], feerate)).toBe(ofChild);
    expect(it.together([out(txs[6]!, 0), out(txs[7]!, 0)], feerate)).toBe(
      lacking(feerate, HIGH + LOW + MEDIUM + HIGH, 4, 5, 6, 7),
    );
    // The ancestors are in two clusters.
    expect(it.together([out(txs[3]!, 0), out(txs[6]!, 0)], feerate)).toBe(
      lacking(feerate, 2 * LOW + 2 * MEDIUM + 3 * HIGH, 0, 1, 2, 3, 4, 5, 6),
    );
  });

  test('if the grandparent pays enough, only its descendants are raised', () => {
    const feerate = BigInt(Math.floor((HIGH * 1000) / it.vsize(txs[4]!))) - 5n;
    const fees = it.each(unspent(), feerate);
    expect(fees[6]).toBe(0n);
    expect(fees[8]).toBe(lacking(feerate, LOW + MEDIUM, 5, 6));
    expect(fees[9]).toBe(lacking(feerate, LOW + HIGH, 5, 7));
    // The sibling is raised with them, which covers a part.
    expect(it.together([out(txs[6]!, 0), out(txs[7]!, 0)], feerate)).toBe(
      lacking(feerate, LOW + MEDIUM + HIGH, 5, 6, 7),
    );
  });

  test('of two siblings, the better one has already raised the parent', () => {
    const feerate = BigInt(Math.floor(((MEDIUM + 10) * 1000) / it.vsize(txs[6]!)));
    expect(it.vsize(txs[5]!, txs[7]!) * Number(feerate)).toBeLessThan((LOW + HIGH) * 1000);
    const fees = it.each(unspent(), feerate);
    expect(fees[8]).toBe(lacking(feerate, MEDIUM, 6));
    expect(fees[9]).toBe(0n);
  });
});

describe('minedPackages returns packages in mining order', () => {
  const tx = (fee: number, size: number, ...parents: number[]): ClusterTx => ({ fee, size, parents });

  test('a child raises its parent, but a parent does not raise its child', () => {
    const delta = 10_000;
    const [parent, child] = [141, 110];
    const fees = [MEDIUM, MEDIUM, LOW, HIGH, LOW, LOW + delta, HIGH, LOW];
    const txs = fees.map((fee, i) => (i % 2 === 0 ? tx(fee, parent) : tx(fee, child, i - 1)));
    const packages = minedPackages(txs, null).map((members) => members.toSorted());
    // As the first two have the same feerate, the smaller child is mined with its parent.
    expect(packages).toEqual([[6], [2, 3], [4, 5], [0, 1], [7]]);
  });

  test('three pairs are mined before a large child of all of them', () => {
    const txs = [
      tx(0, 100),
      tx(HIGH, 100, 0),
      tx(2 * LOW, 100),
      tx(MEDIUM, 100, 2),
      tx(LOW, 100),
      tx(2 * LOW, 100, 4),
      tx(LOW, 1000, 1, 3, 5),
    ];
    expect(minedPackages(txs, null).map((members) => members.toSorted())).toEqual([[0, 1], [2, 3], [4, 5], [6]]);
    // The pairs pay 500, 30 and 7.5 satoshis per byte.
    expect(minedPackages(txs, 30_000n)).toHaveLength(2);
    expect(minedPackages(txs, 30_001n)).toHaveLength(1);
  });

  test('overlapping ancestors are mined in order of their package feerates', () => {
    const txs = [
      tx(LOW, 141),
      tx(MEDIUM, 141),
      tx(HIGH, 141),
      tx(HIGH, 310, 0, 1, 2),
      tx(HIGH, 140),
      tx(LOW, 172, 4),
      tx(MEDIUM, 141, 5),
      tx(HIGH, 141, 5),
    ];
    expect(minedPackages(txs, null).map((members) => members.toSorted())).toEqual([[4], [2], [5, 7], [0, 1, 3], [6]]);
  });

  test('a transaction with a negative fee is mined only if no feerate is required', () => {
    expect(minedPackages([tx(-49_000, 100)], 0n)).toEqual([]);
    expect(minedPackages([tx(-49_000, 100)], null)).toEqual([[0]]);
  });
});

// Two cheap children of one parent pay enough together but not alone: 9.5 satoshis per byte each with the parent, 12.7
// together. A transaction that spends both needs no bump fee, and its own size is not paid for by them.
test('ancestors that pay enough together need no bump fee and subsidize no descendant', async () => {
  const it = new Pool(await TestMempool.on(chain));
  await using _ = it.pool;
  const parent = await it.add([chain.coin(1)], 2, 100);
  const left = await it.add([coinOf(parent, 0)], 1, 1900);
  const right = await it.add([coinOf(parent, 1)], 1, 1900);
  const feerate = 10_000n;
  const coins = [out(left, 0), out(right, 0)];
  const each = it.each(coins, feerate);
  expect(it.lacking(feerate, 100 + 1900, parent, left)).toBeGreaterThan(0n);
  expect(it.lacking(feerate, 100 + 3800, parent, left, right)).toBeLessThan(0n);
  expect(each[0]).toBe(it.lacking(feerate, 100 + 1900, parent, left));
  expect(it.together(coins, feerate)).toBe(0n);
});
