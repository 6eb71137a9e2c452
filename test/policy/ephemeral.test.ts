import { describe, expect, test } from 'bun:test';
import { dustOutputs } from '../../src/policy/dust.ts';
import { checkEphemeralSpends, preCheckEphemeralTx } from '../../src/policy/ephemeral.ts';
import type { ParsedTransaction } from '../../src/primitives/block.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { ANCHOR, outpointOf, output, someOutpoint, spending, txOf } from './policy-fixture.ts';

const DUST = 1;
/** Two outputs above the dust limit with dust between them. */
const dusty = (...prevouts: Parameters<typeof spending>[0]) =>
  spending(prevouts, { outputs: [output(10_000n), output(0n, ANCHOR), output(10_000n)] });

describe('a transaction with dust must pay no fee', () => {
  const { tx } = dusty(someOutpoint(1));
  const fault = { kind: 'policy', reason: 'dust', debug: 'tx with dust output must be 0-fee' } as const;

  test('neither a base fee nor a modified one', () => {
    expect(preCheckEphemeralTx(tx, 3000n, 0n, 0n)).toBeNull();
    expect(preCheckEphemeralTx(tx, 3000n, 1n, 1n)).toMatchObject(fault);
    expect(preCheckEphemeralTx(tx, 3000n, 0n, 1n)).toMatchObject(fault);
    expect(preCheckEphemeralTx(tx, 3000n, 1n, 0n)).toMatchObject(fault);
    expect(preCheckEphemeralTx(tx, 3000n, 0n, -1n)).toMatchObject(fault);
  });

  test('preCheckEphemeralTx accepts a fee without dust', () => {
    expect(preCheckEphemeralTx(txOf(), 3000n, 1n, 1n)).toBeNull();
    expect(preCheckEphemeralTx(tx, 0n, 1n, 1n)).toBeNull();
  });
});

// The cases of Core's ephemeral_tests.
describe('checkEphemeralSpends', () => {
  /** The index of the first transaction that leaves dust, or null. */
  function check(txs: readonly ParsedTransaction[], mempool: readonly ParsedTransaction[] = [], feerate = 3000n) {
    const inMempool = new Map(mempool.map(({ txid, tx }) => [hashToHex(txid), dustOutputs(tx, feerate)]));
    const fault = checkEphemeralSpends(
      txs.map((parsed) => ({
        parsed,
        dust: dustOutputs(parsed.tx, feerate),
        mempoolDust: (txid) => inMempool.get(hashToHex(txid)) ?? [],
      })),
    );
    if (fault === null) return null;
    const { txid, wtxid } = txs[fault.index]!;
    expect(fault.rejection).toMatchObject({
      kind: 'policy',
      reason: 'missing-ephemeral-spends',
      debug: `tx ${hashToHex(txid)} (wtxid=${hashToHex(wtxid)}) did not spend parent's ephemeral dust`,
    });
    return fault.index;
  }

  const one = dusty(someOutpoint(1));
  const two = dusty(someOutpoint(2));
  const spends = spending([outpointOf(one, DUST)]);
  const spendsNone = spending([outpointOf(one, 0)]);
  const spendsOneOfTwo = spending([outpointOf(one, DUST), outpointOf(two, 0)]);
  const spendsBoth = spending([outpointOf(one, DUST), outpointOf(two, DUST)]);
  const spendsAll = spending([one, two].flatMap((parsed) => [0, 1, 2].map((vout) => outpointOf(parsed, vout))));
  const dustyChild = dusty(outpointOf(one, DUST), outpointOf(two, DUST));
  const grandchild = spending([outpointOf(dustyChild, DUST)]);
  const dustyGrandchild = dusty(outpointOf(dustyChild, DUST));

  test('accepts a child that spends the dust of its parent in the package', () => {
    expect(check([spends])).toBeNull();
    expect(check([one])).toBeNull();
    expect(check([one, spends])).toBeNull();
    expect(check([one, spendsNone])).toBe(1);
    expect(check([one, spendsNone], [], 0n)).toBeNull();
  });

  test('requires each child to spend the dust, not only one of them', () => {
    expect(check([one, spendsNone, spends])).toBe(1);
    expect(check([one, spends, spendsNone])).toBe(2);
  });

  test('requires a child to spend the dust of each parent', () => {
    expect(check([one, two, spends])).toBeNull();
    expect(check([one, two, spendsOneOfTwo])).toBe(2);
    expect(check([one, two, spendsBoth])).toBeNull();
    expect(check([one, two, spendsAll])).toBeNull();
  });

  test('accepts a child with dust of its own', () => {
    expect(check([one, two, dustyChild])).toBeNull();
    expect(check([one, two, dustyChild, grandchild])).toBeNull();
    expect(check([one, two, dustyChild, dustyGrandchild])).toBeNull();
  });

  test('requires the dust of parents in the mempool to be spent', () => {
    expect(check([spends], [one])).toBeNull();
    expect(check([spendsNone], [one])).toBe(0);
    expect(check([grandchild], [one])).toBeNull();
    expect(check([dustyChild], [one])).toBeNull();
    expect(check([dustyChild, two], [one])).toBeNull();
    expect(check([two, dustyChild], [one])).toBeNull();
    expect(check([spendsOneOfTwo], [one, two])).toBe(0);
    expect(check([two, spendsOneOfTwo], [one])).toBe(1);
    expect(check([grandchild], [one, two, dustyChild])).toBeNull();
  });

  test('requires all dust outputs of a parent to be spent', () => {
    const parent = spending([someOutpoint(3)], { outputs: [output(1n), output(1n), output(10_000n)] });
    expect(check([parent, spending([outpointOf(parent, 0)])])).toBe(1);
    expect(check([parent, spending([outpointOf(parent, 0), outpointOf(parent, 1)])])).toBeNull();
  });
});
