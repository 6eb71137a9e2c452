import { expect, test } from 'bun:test';
import type { ScriptVerifier } from '../../src/chain/script-verifier.ts';
import { SubmissionQueue } from '../../src/mempool/submission-queue.ts';
import type { Transaction } from '../../src/primitives/transaction.ts';
import { chainWithCoins } from '../lib/chain-builder.ts';
import { inlineVerifier, lateVerifier } from '../lib/chain-fixture.ts';
import { parsed, TestMempool } from '../lib/mempool-fixture.ts';
import { coinOf, sweep, withBadSignature } from '../lib/tx-builder.ts';

/** Submits all transactions at once. Returns for each its result, and whether its scripts were verified in advance. */
async function submitAll(pool: TestMempool, txs: readonly Transaction[], verifier: ScriptVerifier) {
  const { chain } = pool.node;
  const queue = new SubmissionQueue({
    verifier,
    chain,
    mempool: pool.mempool,
    settled: (work) => chain.whenSettled(work),
  });
  const advance: boolean[] = [];
  const results = await Promise.all(
    txs.map((tx) =>
      queue.enqueue(parsed(tx), (scriptsValid) => {
        advance.push(scriptsValid);
        const result = pool.acceptance.accept(parsed(tx), { scriptsValid });
        return result.status === 'rejected' ? result.rejection.reason : result.status;
      }),
    ),
  );
  return { results, advance };
}

/** Chains of transactions from several coins, in turns. */
function interleavedChains(chain: ReturnType<typeof chainWithCoins>, chains: number, length: number): Transaction[] {
  const heads = Array.from({ length: chains }, (_, i) => sweep(chain.coin(i + 1), 'p2wpkh', 1000n));
  const txs = [...heads];
  for (let i = 1; i < length; i++)
    for (let at = 0; at < chains; at++) {
      heads[at] = sweep(coinOf(heads[at]!, 0), 'p2wpkh', 1000n);
      txs.push(heads[at]!);
    }
  return txs;
}

test('transactions that arrive together are accepted in order, and their scripts are verified in advance', async () => {
  const chain = chainWithCoins(10, 'p2wpkh');
  await using pool = await TestMempool.on(chain);
  // More than one group, so that a group spends outputs of the one before, which is not accepted yet.
  const txs = interleavedChains(chain, 8, 20);
  let turns = 0;
  const { results, advance } = await submitAll(
    pool,
    txs,
    lateVerifier(() => turns++ % 3),
  );
  expect(results).toEqual(txs.map(() => 'accepted'));
  expect(advance).toEqual(txs.map(() => true));
  expect(pool.count).toBe(160);
});

test('an invalid script rejects its transaction and those that spend it, and no other', async () => {
  const chain = chainWithCoins(6, 'p2wpkh');
  await using pool = await TestMempool.on(chain);
  const [first, last] = [1, 2].map((n) => sweep(chain.coin(n), 'p2wpkh', 1000n)) as [Transaction, Transaction];
  const bad = withBadSignature(sweep(chain.coin(3), 'p2wpkh', 1000n));
  const child = sweep(coinOf(bad, 0), 'p2wpkh', 1000n);
  const { results, advance } = await submitAll(pool, [first, bad, child, last], inlineVerifier);
  expect(results[0]).toBe('accepted');
  expect(results[1]).toStartWith('mempool-script-verify-flag-failed');
  expect(results[2]).toBe('bad-txns-inputs-missingorspent');
  expect(results[3]).toBe('accepted');
  expect(advance).toEqual([true, false, false, false]);
});

test('a transaction with unknown coins is verified by acceptance', async () => {
  const chain = chainWithCoins(6, 'p2wpkh');
  await using pool = await TestMempool.on(chain);
  const missing = sweep(coinOf(sweep(chain.coin(1), 'p2wpkh', 1000n), 0), 'p2wpkh', 1000n);
  const good = sweep(chain.coin(2), 'p2wpkh', 1000n);
  const bad = withBadSignature(sweep(chain.coin(3), 'p2wpkh', 1000n));
  const { results, advance } = await submitAll(pool, [missing, good, bad], inlineVerifier);
  expect(results.slice(0, 2)).toEqual(['bad-txns-inputs-missingorspent', 'accepted']);
  expect(results[2]).toStartWith('mempool-script-verify-flag-failed');
  expect(advance).toEqual([false, true, false]);
});

test('no script is verified for a transaction that a cheaper check rejects', async () => {
  const chain = chainWithCoins(12, 'p2wpkh');
  await using pool = await TestMempool.on(chain, { clusterCount: 3 });
  const coin = (n: number) => chain.coin(n);
  const inPool = sweep(coin(1), 'p2wpkh', 5000n);
  const truc = sweep(coin(2), 'p2wpkh', 5000n, { version: 3 });
  for (const tx of [inPool, truc]) expect(await pool.reason(tx)).toBe('accepted');
  const good = sweep(coin(3), 'p2wpkh', 1000n);
  const links = [sweep(coin(4), 'p2wpkh', 1000n)];
  while (links.length < 5) links.push(sweep(coinOf(links.at(-1)!, 0), 'p2wpkh', 1000n));
  const cases: [Transaction, string][] = [
    [sweep(coin(5), 'p2wpkh', 1n), 'min relay fee not met'],
    [sweep(coin(6), 'p2wpkh', 1000n, { version: 9 }), 'version'],
    [sweep(coin(7), 'p2wpkh', 1000n, { locktime: 499_999_999 }), 'non-final'],
    [sweep(coin(1), 'p2wpkh', 5001n), 'insufficient fee'],
    [sweep(coinOf(truc, 0), 'p2wpkh', 1000n), 'TRUC-violation'],
    [good, 'accepted'],
    [sweep(coin(3), 'p2wpkh', 1001n), 'insufficient fee'],
    ...links.map((tx, i): [Transaction, string] => [
      tx,
      i < 3 ? 'accepted' : i === 3 ? 'too-large-cluster' : 'bad-txns-inputs-missingorspent',
    ]),
  ];
  const verified: string[] = [];
  const counting: ScriptVerifier = {
    begin(flags) {
      const checks = inlineVerifier.begin(flags);
      const addTransaction: typeof checks.addTransaction = (tx, raw, spent, inputs) => {
        verified.push(raw.toHex());
        checks.addTransaction(tx, raw, spent, inputs);
      };
      return { ...checks, addTransaction };
    },
  };
  const txs = cases.map(([tx]) => tx);
  const { results } = await submitAll(pool, txs, counting);
  expect(results).toEqual(cases.map(([, reason]) => reason));
  const accepted = cases.filter(([, reason]) => reason === 'accepted').map(([tx]) => parsed(tx).raw.toHex());
  expect(verified).toEqual(accepted);
});

test('where the threads that verify have failed, acceptance verifies', async () => {
  const chain = chainWithCoins(4, 'p2wpkh');
  await using pool = await TestMempool.on(chain);
  const failing: ScriptVerifier = {
    begin: (flags) => ({ ...inlineVerifier.begin(flags), finish: () => Promise.reject(new Error('ended')) }),
  };
  const txs = [sweep(chain.coin(1), 'p2wpkh', 1000n), withBadSignature(sweep(chain.coin(2), 'p2wpkh', 1000n))];
  const { results, advance } = await submitAll(pool, txs, failing);
  expect(results[0]).toBe('accepted');
  expect(results[1]).toStartWith('mempool-script-verify-flag-failed');
  expect(advance).toEqual([false, false]);
});

test('an exception while a transaction is accepted rejects its call alone', async () => {
  const chain = chainWithCoins(4, 'p2wpkh');
  await using pool = await TestMempool.on(chain);
  const queue = new SubmissionQueue({
    verifier: inlineVerifier,
    chain: pool.node.chain,
    mempool: pool.mempool,
    settled: (work) => pool.node.chain.whenSettled(work),
  });
  const tx = parsed(sweep(chain.coin(1), 'p2wpkh', 1000n));
  const outcomes = await Promise.allSettled([
    queue.enqueue(tx, () => {
      throw new Error('a bug');
    }),
    queue.enqueue(tx, () => 2),
  ]);
  expect(outcomes).toMatchObject([{ status: 'rejected' }, { status: 'fulfilled', value: 2 }]);
});
