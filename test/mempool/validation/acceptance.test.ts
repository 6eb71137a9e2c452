import { describe, expect, spyOn, test } from 'bun:test';
import { hashToHex } from '../../../src/primitives/hash.ts';
import type { Transaction } from '../../../src/primitives/transaction.ts';
import { Op } from '../../../src/script/opcodes.ts';
import { scriptOf } from '../../../src/script/script-builder.ts';
import { chainWithCoins, type RegtestChain } from '../../lib/chain-builder.ts';
import { parsed, TestMempool } from '../../lib/mempool-fixture.ts';
import {
  coinOf,
  type SpendOptions,
  spend,
  sweep,
  type TestCoin,
  withBadSignature,
  withInput,
  withOutput,
} from '../../lib/tx-builder.ts';

const COIN = 1_0000_0000n;
const COINS = 8;
const chainOfCoins = () => chainWithCoins(COINS, 'p2wpkh');

/** A transaction with one input of 50 coins and one output that pays this fee in satoshis. */
const pays = (coin: TestCoin, fee: bigint, options: SpendOptions = {}) => sweep(coin, 'p2wpkh', fee, options);
const dust = { to: 'p2wpkh' as const, value: 293n };

describe("preCheck reports Core's reject reasons in Core's order", () => {
  const chain = chainOfCoins();
  const coin = (n: number) => chain.coin(n);
  const good = pays(coin(1), 1000n);

  const cases: Record<string, [reason: string, tx: () => Transaction]> = {
    'no outputs': ['bad-txns-vout-empty', () => ({ ...good, outputs: [] })],
    coinbase: ['coinbase', () => chain.tip.txs[0]!],
    'version 4': ['version', () => pays(coin(1), 1000n, { version: 4 })],
    'version 0': ['version', () => pays(coin(1), 1000n, { version: 0 })],
    'a scriptSig that is no push': [
      'scriptsig-not-pushonly',
      () => withInput(good, 0, { scriptSig: Uint8Array.of(Op.OP_DUP) }),
    ],
    'an output of no known form': ['scriptpubkey', () => sweep(coin(1), scriptOf(Op.OP_DUP))],
    'two dust outputs': ['dust', () => spend(coin(1), [dust, dust, { to: 'p2wpkh', value: COIN }])],
    'dust and a fee': ['dust', () => spend(coin(1), [dust, { to: 'p2wpkh', value: COIN }])],
    'fewer than 65 bytes': [
      'tx-size-small',
      () => spend(coin(1), [{ to: scriptOf(Op.OP_RETURN), value: 0n }], { sign: true }),
    ],
    'locked until the block after the next': ['non-final', () => pays(coin(1), 1000n, { locktime: chain.height + 1 })],
    'an unknown coin': [
      'bad-txns-inputs-missingorspent',
      () => withInput(good, 0, { prevout: { ...good.inputs[0]!.prevout, vout: 9 } }),
    ],
    'locked for longer than its coin is old': ['non-BIP68-final', () => pays(coin(COINS), 1000n, { sequence: 101 })],
    'a young coinbase': ['bad-txns-premature-spend-of-coinbase', () => pays(coin(COINS + 1), 1000n)],
    'more out than in': ['bad-txns-in-belowout', () => withOutput(good, 0, { value: 51n * COIN })],
    'a satoshi too little for its size': ['min relay fee not met', () => pays(coin(1), 10n)],
    'a wrong signature': [
      'mempool-script-verify-flag-failed (Signature must be zero for failed CHECK(MULTI)SIG operation)',
      () => withBadSignature(good),
    ],
  };
  for (const [name, [reason, tx]] of Object.entries(cases))
    test(`${name}: ${reason}`, async () => {
      await using pool = await TestMempool.on(chain);
      expect(await pool.reason(tx())).toBe(reason);
      expect(pool.count).toBe(0);
      // No state is left behind that would block a valid transaction.
      expect(await pool.reason(good)).toBe('accepted');
    });

  test('the minimum relay fee is a tenth of a satoshi per virtual byte, rounded up', async () => {
    await using pool = await TestMempool.on(chain);
    // 110 virtual bytes.
    expect(await pool.reason(pays(coin(1), 11n))).toBe('accepted');
  });

  test('transactions in the mempool, with another witness, or in the chain are rejected as duplicates', async () => {
    const own = chainOfCoins();
    const tx = pays(own.coin(1), 1000n);
    await using pool = await TestMempool.on(own);
    expect(await pool.reason(tx)).toBe('accepted');
    expect(await pool.reason(tx)).toBe('txn-already-in-mempool');
    const [signature, key] = tx.inputs[0]!.witness;
    const twin = withInput(tx, 0, { witness: [signature!, key!, key!] });
    expect(await pool.reason(twin)).toBe('txn-same-nonwitness-data-in-mempool');
    await pool.node.take([own.mine(1, { txs: [tx] })]);
    expect(pool.count).toBe(0);
    expect(await pool.reason(tx)).toBe('txn-already-known');
  });

  test('testOnly adds nothing to the mempool', async () => {
    await using pool = await TestMempool.on(chain);
    expect(await pool.reason(good, { testOnly: true })).toBe('accepted');
    expect(pool.count).toBe(0);
    expect(pool.log).toEqual([]);
  });

  test('the result reports fee and virtual size', async () => {
    await using pool = await TestMempool.on(chain);
    expect(await pool.accept(good)).toMatchObject({ status: 'accepted', vsize: 110, fee: 1000, replaced: [] });
    expect(pool.mempool.totals()).toMatchObject({ count: 1, vsize: 110, totalFee: 1000 });
  });
});

describe('replacement', () => {
  const chain = chainOfCoins();
  const first = pays(chain.coin(1), 1000n);

  async function poolWith(...txs: Transaction[]): Promise<TestMempool> {
    const pool = await TestMempool.on(chain);
    for (const tx of txs) expect(await pool.reason(tx)).toBe('accepted');
    return pool;
  }

  test('a replacement must pay more than the replaced transactions and for its own relay', async () => {
    await using pool = await poolWith(first);
    expect(await pool.reason(pays(chain.coin(1), 999n))).toBe('insufficient fee');
    // 110 virtual bytes at 0.1 satoshi.
    expect(await pool.reason(pays(chain.coin(1), 1010n))).toBe('insufficient fee');
    const second = pays(chain.coin(1), 1011n);
    expect(await pool.accept(second)).toMatchObject({ status: 'accepted', replaced: [parsed(first).txid] });
    expect([pool.has(first), pool.has(second)]).toEqual([false, true]);
    expect(pool.log.slice(-2)).toEqual([
      `-${hashToHex(parsed(first).txid)} replaced`,
      `+${hashToHex(parsed(second).txid)}`,
    ]);
  });

  test('a replacement needs no BIP-125 signal (full RBF)', async () => {
    const final = pays(chain.coin(1), 1000n, { sequence: 0xffff_ffff });
    await using pool = await poolWith(final);
    expect(await pool.reason(pays(chain.coin(1), 5000n))).toBe('accepted');
  });

  test('a replacement must pay for all replaced descendants', async () => {
    const child = pays(coinOf(first, 0), 9000n);
    await using pool = await poolWith(first, child);
    expect(await pool.reason(pays(chain.coin(1), 9000n))).toBe('insufficient fee');
    expect(await pool.reason(pays(chain.coin(1), 10_011n))).toBe('accepted');
    expect([pool.has(first), pool.has(child)]).toEqual([false, false]);
  });

  test('a replacement that worsens the feerate diagram is rejected with replacement-failed', async () => {
    // The original is small with a high feerate; the replacement pays slightly more at a much larger size.
    await using pool = await poolWith(pays(chain.coin(1), 5000n));
    const outputs = Array.from({ length: 40 }, () => ({ to: 'p2wpkh' as const, value: COIN }));
    const wide = spend(chain.coin(1), [...outputs, { to: 'p2wpkh', value: 10n * COIN - 6000n }]);
    expect(await pool.reason(wide)).toBe('replacement-failed');
  });

  test('a replacement cannot spend an output of a replaced transaction', async () => {
    await using pool = await poolWith(first);
    const both = spend([chain.coin(1), coinOf(first, 0)], [{ to: 'p2wpkh', value: 50n * COIN }]);
    expect(await pool.reason(both)).toBe('bad-txns-spends-conflicting-tx');
  });
});

describe('cluster limits', () => {
  test('a chain of 65 transactions is rejected as too large', async () => {
    const chain = chainOfCoins();
    await using pool = await TestMempool.on(chain);
    let tx = pays(chain.coin(1), 1000n);
    for (let i = 0; i < 64; i++) {
      expect([i, await pool.reason(tx)]).toEqual([i, 'accepted']);
      tx = pays(coinOf(tx, 0), 1000n);
    }
    expect(await pool.reason(tx)).toBe('too-large-cluster');
  });

  test('TRUC transactions have one parent and one child, and a better paying sibling replaces the child', async () => {
    const chain = chainOfCoins();
    await using pool = await TestMempool.on(chain);
    const v3 = { version: 3 };
    const parent = spend(
      chain.coin(1),
      [
        { to: 'p2wpkh', value: COIN },
        { to: 'p2wpkh', value: 49n * COIN - 500n },
      ],
      v3,
    );
    expect(await pool.reason(parent)).toBe('accepted');
    expect(await pool.reason(pays(coinOf(parent, 0), 500n))).toBe('TRUC-violation');
    const child = pays(coinOf(parent, 0), 500n, v3);
    expect(await pool.reason(child)).toBe('accepted');
    expect(await pool.reason(pays(coinOf(child, 0), 500n, v3))).toBe('TRUC-violation');
    expect(await pool.reason(pays(coinOf(parent, 1), 400n, v3))).toBe('insufficient fee (including sibling eviction)');
    expect(await pool.reason(pays(coinOf(parent, 1), 5000n, v3))).toBe('accepted');
    expect(pool.has(child)).toBe(false);
  });
});

describe('packages', () => {
  const free = (coin: TestCoin, options: SpendOptions = {}) => pays(coin, 0n, options);

  test('a child pays for its parent', async () => {
    const chain = chainOfCoins();
    await using pool = await TestMempool.on(chain);
    const parent = free(chain.coin(1));
    const child = pays(coinOf(parent, 0), 1000n);
    expect(await pool.reason(parent)).toBe('min relay fee not met');
    const result = await pool.node.chain.whenSettled(() => pool.packages.accept([parent, child].map(parsed)));
    expect(result.rejection).toBe(null);
    expect([...result.results.values()]).toMatchObject([
      { status: 'accepted', fee: 0, effective: { fee: 1000, vsize: 220 } },
      { status: 'accepted', fee: 1000, effective: { fee: 1000, vsize: 220 } },
    ]);
    expect(pool.count).toBe(2);
  });

  test('dust is accepted only if the child in the package spends it', async () => {
    const chain = chainOfCoins();
    await using pool = await TestMempool.on(chain);
    const parent = spend(chain.coin(1), [
      { to: 'p2wpkh', value: 50n * COIN - 100n },
      { to: 'p2wpkh', value: 100n },
    ]);
    const leaving = pays(coinOf(parent, 0), 1000n);
    const submit = (txs: Transaction[]) => pool.node.chain.whenSettled(() => pool.packages.accept(txs.map(parsed)));
    expect((await submit([parent, leaving])).rejection).toMatchObject({ reason: 'unspent-dust' });
    expect(pool.count).toBe(0);
    const taking = spend([coinOf(parent, 0), coinOf(parent, 1)], [{ to: 'p2wpkh', value: 49n * COIN }]);
    expect((await submit([parent, taking])).rejection).toBe(null);
    expect(pool.count).toBe(2);
  });

  test('packages without a child, in the wrong order, or with duplicates are rejected', async () => {
    const chain = chainOfCoins();
    await using pool = await TestMempool.on(chain);
    const parent = free(chain.coin(1));
    const child = pays(coinOf(parent, 0), 1000n);
    const reasonOf = async (txs: Transaction[]) =>
      (await pool.node.chain.whenSettled(() => pool.packages.accept(txs.map(parsed)))).rejection?.reason;
    expect(await reasonOf([child, parent])).toBe('package-not-sorted');
    expect(await reasonOf([parent, parent])).toBe('package-contains-duplicates');
    expect(await reasonOf([pays(chain.coin(2), 1000n), child])).toBe('package-not-child-with-parents');
    expect(await reasonOf([parent, pays(chain.coin(1), 2000n)])).toBe('conflict-in-package');
    expect(pool.count).toBe(0);
  });

  test('a package of one parent and one child may replace transactions', async () => {
    const chain = chainOfCoins();
    await using pool = await TestMempool.on(chain);
    const old = pays(chain.coin(1), 1000n);
    expect(await pool.reason(old)).toBe('accepted');
    const parent = pays(chain.coin(1), 20n);
    const child = pays(coinOf(parent, 0), 3000n);
    const result = await pool.node.chain.whenSettled(() => pool.packages.accept([parent, child].map(parsed)));
    expect(result.rejection).toBe(null);
    expect([pool.has(old), pool.has(parent), pool.has(child)]).toEqual([false, true, true]);
  });
});

describe('chain changes', () => {
  async function start(): Promise<{ chain: RegtestChain; pool: TestMempool }> {
    const chain = chainOfCoins();
    return { chain, pool: await TestMempool.on(chain) };
  }

  test('a block removes its transactions, and conflicting ones with their descendants', async () => {
    const { chain, pool } = await start();
    await using _pool = pool;
    const [kept, mined, loser] = [pays(chain.coin(1), 1000n), pays(chain.coin(2), 1000n), pays(chain.coin(3), 1000n)];
    const child = pays(coinOf(loser, 0), 1000n);
    for (const tx of [kept, mined, loser, child]) expect(await pool.reason(tx)).toBe('accepted');
    await pool.node.take([chain.mine(1, { txs: [mined, pays(chain.coin(3), 2000n)] })]);
    expect([kept, mined, loser, child].map((tx) => pool.has(tx))).toEqual([true, false, false, false]);
    expect(
      pool.log
        .slice(-3)
        .map((line) => line.split(' ')[1]!)
        .sort(),
    ).toEqual(['block', 'conflict', 'conflict']);
  });

  test('a reorganization restores transactions and links their children', async () => {
    const { chain, pool } = await start();
    await using _pool = pool;
    const other = chain.fork();
    const parent = pays(chain.coin(1), 1000n);
    const child = pays(coinOf(parent, 0), 1000n);
    await pool.node.take([chain.mine(1, { txs: [parent] })]);
    expect(await pool.reason(child)).toBe('accepted');
    other.mine(2);
    await pool.node.take(other.blocks.slice(-2));
    expect([pool.has(parent), pool.has(child)]).toEqual([true, true]);
    const { entries, graph } = pool.mempool;
    expect(graph.ancestors(entries.find(parsed(child).txid))).toHaveLength(2);
  });

  test('the transactions of ten invalidated blocks return, and none of blocks below them', async () => {
    const chain = chainWithCoins(12, 'p2wpkh');
    await using pool = await TestMempool.on(chain);
    const txs = Array.from({ length: 11 }, (_, i) => pays(chain.coin(i + 1), 1000n));
    for (const tx of txs) await pool.node.take([chain.mine(1, { txs: [tx] })]);
    const lowest = pool.node.chain.tip.ancestor(chain.height - 10)!;
    await pool.node.chain.invalidateBlock(lowest);
    expect(txs.map((tx) => pool.has(tx))).toEqual([false, ...Array(10).fill(true)]);
  });

  test('the oldest 20 MB of disconnected transactions return, and no descendants of later ones stay', async () => {
    const chain = chainWithCoins(23, 'p2wpkh');
    const other = chain.fork();
    await using pool = await TestMempool.on(chain, { requireStandard: false, clusterVsize: 1_000_000 });
    const data = scriptOf(Op.OP_RETURN, new Uint8Array(940_000));
    const parents = Array.from({ length: 23 }, (_, i) =>
      spend(chain.coin(i + 1), [
        { to: 'p2wpkh', value: COIN },
        { to: data, value: 0n },
      ]),
    );
    for (const tx of parents) await pool.node.take([chain.mine(1, { txs: [tx] })]);
    const children = parents.map((tx) => pays(coinOf(tx, 0), 1000n));
    for (const tx of children) expect(await pool.reason(tx)).toBe('accepted');
    other.mine(24);
    await pool.node.take(other.blocks.slice(-24));
    // 21 transactions of 940,000 bytes are 19.74 million bytes.
    const stays = (_: Transaction, i: number) => i < 21;
    expect(parents.map((tx) => pool.has(tx))).toEqual(parents.map(stays));
    expect(children.map((tx) => pool.has(tx))).toEqual(children.map(stays));
  }, 60_000);

  test('a reorganization removes transactions that are no longer valid', async () => {
    const { chain, pool } = await start();
    await using _pool = pool;
    const other = chain.fork();
    await pool.node.take([chain.mine(1)]);
    // On this branch the coinbase of block 9 is mature and the lock time passed; a single block of another branch is
    // lower.
    const young = pays(chain.coin(COINS + 1), 1000n);
    const locked = pays(chain.coin(1), 1000n, { locktime: chain.height });
    const child = pays(coinOf(locked, 0), 1000n);
    for (const tx of [young, locked, child]) expect(await pool.reason(tx)).toBe('accepted');
    const entry = pool.node.chain.tip;
    await pool.node.chain.invalidateBlock(entry);
    expect(pool.node.chain.tip.height).toBe(other.height);
    expect(pool.count).toBe(0);
  });
});

describe('bounds', () => {
  test('a transaction that would join too many clusters is rejected before they are linearized', async () => {
    const chain = chainWithCoins(40, 'p2wpkh');
    await using pool = await TestMempool.on(chain);
    const children = Array.from({ length: 40 }, (_, i) => {
      const parent = pays(chain.coin(i + 1), 1000n);
      return [parent, pays(coinOf(parent, 0), 2000n)] as const;
    });
    for (const tx of children.flat()) expect(await pool.reason(tx)).toBe('accepted');
    const { entries, graph } = pool.mempool;
    const before = children.map(([parent]) => graph.chunk(entries.find(parsed(parent).txid)));
    const coins = children.map(([, child]) => coinOf(child, 0));
    // 31 clusters of two transactions and the new one are 63.
    for (const [count, reason] of [
      [40, 'too-large-cluster'],
      [32, 'too-large-cluster'],
      [31, 'accepted'],
    ] as const) {
      const joining = spend(coins.slice(0, count), [{ to: 'p2wpkh', value: 1_0000_0000n }]);
      const replacing = spend([chain.coin(40), ...coins.slice(0, count)], [{ to: 'p2wpkh', value: 1_0000_0000n }]);
      expect(await pool.reason(joining, { testOnly: true })).toBe(reason);
      if (count < 40) expect(await pool.reason(replacing, { testOnly: true })).toBe(reason);
      if (reason === 'accepted') continue;
      const after = children.slice(0, 39).map(([parent]) => graph.chunk(entries.find(parsed(parent).txid)));
      expect(after.every((chunk, i) => chunk === before[i])).toBe(true);
    }
  });

  test('a transaction with many inputs from one parent reads the parent once', async () => {
    const chain = chainWithCoins(1, 'p2wpkh');
    await using pool = await TestMempool.on(chain);
    const payees = Array.from({ length: 300 }, () => ({ to: 'p2wpkh' as const, value: 10_000n }));
    const parent = spend(chain.coin(1), payees);
    expect(await pool.reason(parent)).toBe('accepted');
    const coins = payees.map((_, vout) => coinOf(parent, vout));
    const { entries } = pool.mempool;
    const read = spyOn(entries, 'raw');
    const child = spend(coins, [{ to: 'p2wpkh', value: 300n * 10_000n }], { sign: false });
    expect(await pool.reason(child)).toBe('min relay fee not met');
    expect(read.mock.calls.length).toBeLessThan(3);
    read.mockRestore();
    expect(await pool.reason(spend(coins, [{ to: 'p2wpkh', value: 2_900_000n }]))).toBe('accepted');
  });

  test('a full mempool evicts the worst chunk and raises the minimum feerate', async () => {
    const chain = chainWithCoins(30, 'p2wpkh');
    await using pool = await TestMempool.on(chain, { maxMempoolBytes: 12_000 });
    const fees = Array.from({ length: 25 }, (_, i) => 1000n + BigInt(i) * 100n);
    for (const [i, fee] of fees.entries()) await pool.accept(pays(chain.coin(i + 1), fee));
    expect(pool.mempool.usage).toBeLessThanOrEqual(12_000);
    expect(pool.has(pays(chain.coin(25), fees[24]!))).toBe(true);
    expect(pool.has(pays(chain.coin(1), fees[0]!))).toBe(false);
    expect(await pool.reason(pays(chain.coin(1), fees[0]!))).toBe('mempool min fee not met');
    expect(pool.mempool.minFeerate).toBeGreaterThan(100);
  });

  test('transactions expire after two weeks with their descendants', async () => {
    const chain = chainOfCoins();
    await using pool = await TestMempool.on(chain);
    const old = pays(chain.coin(1), 1000n);
    const child = pays(coinOf(old, 0), 1000n);
    expect(await pool.reason(old)).toBe('accepted');
    pool.node.clock.advance(300 * 3600 * 1000);
    expect(await pool.reason(child)).toBe('accepted');
    pool.node.clock.advance(37 * 3600 * 1000);
    expect(await pool.reason(pays(chain.coin(2), 1000n))).toBe('accepted');
    expect([pool.has(old), pool.has(child)]).toEqual([false, false]);
  });

  test('prioritisation counts as additional fee', async () => {
    const chain = chainOfCoins();
    await using pool = await TestMempool.on(chain);
    const tx = pays(chain.coin(1), 0n);
    pool.mempool.prioritise(parsed(tx).txid, 500);
    expect(await pool.reason(tx)).toBe('accepted');
    expect(pool.mempool.totals().totalFee).toBe(0);
    expect(await pool.reason(pays(chain.coin(1), 400n))).toBe('insufficient fee');
  });
});
