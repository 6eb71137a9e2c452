import { describe, expect, test } from 'bun:test';
import { checkBlockContext } from '../../src/consensus/check-block-context.ts';
import { witnessCommitmentIndex } from '../../src/consensus/witness-commitment.ts';
import { regtest, regtestWith } from '../../src/params/regtest.ts';
import type { Transaction } from '../../src/primitives/transaction.ts';
import { blockOf, coinbaseInput, coinbaseOf, committedCoinbase, input, output, txOf } from './block-fixture.ts';
import { chainOf } from './chain-fixture.ts';

const { consensus } = regtest;
const genesis = chainOf(1, () => ({ time: 1000, bits: 0x207f_ffff }));

/** A coinbase whose scriptSig starts with this hex. */
function coinbaseAt(hex: string): Transaction {
  return coinbaseOf({ inputs: [coinbaseInput({ scriptSig: Uint8Array.fromHex(`${hex}00`) })] });
}

describe('bad-txns-nonfinal', () => {
  const spend = (locktime: number) => txOf({ locktime, inputs: [input(1, { sequence: 0 })] });
  const check = (locktime: number, params = consensus) =>
    checkBlockContext(blockOf([coinbaseOf(), spend(locktime)], { time: 600_000_000 }), genesis, params);

  test('applies to heights', () => {
    expect(check(0)).toBeNull();
    expect(check(1)).toMatchObject({
      kind: 'consensus',
      reason: 'bad-txns-nonfinal',
      debug: 'non-final transaction',
    });
  });

  test('applies to times: the time of the block, or with BIP-113 the median time past of its parent', () => {
    expect(check(599_999_999)?.reason).toBe('bad-txns-nonfinal');
    expect(check(599_999_999, regtestWith(['csv@2']).consensus)).toBeNull();
    expect(check(600_000_000, regtestWith(['csv@2']).consensus)?.reason).toBe('bad-txns-nonfinal');
    const late = chainOf(1, () => ({ time: 600_000_001, bits: 0x207f_ffff }));
    expect(checkBlockContext(blockOf([coinbaseOf(), spend(600_000_000)]), late, consensus)).toBeNull();
  });
});

describe('bad-cb-height', () => {
  test.each([
    [1, '51'],
    [16, '60'],
    [17, '0111'],
    [127, '017f'],
    [128, '028000'],
    [255, '02ff00'],
    [256, '020001'],
    [500, '02f401'],
  ])('height %p begins with %p', (height, prefix) => {
    const parent = chainOf(height, (at) => ({ time: at, bits: 0x207f_ffff }));
    expect(checkBlockContext(blockOf([coinbaseAt(prefix)]), parent, consensus)).toBeNull();
    const next = chainOf(height + 1, (at) => ({ time: at, bits: 0x207f_ffff }));
    expect(checkBlockContext(blockOf([coinbaseAt(prefix)]), next, consensus)).toMatchObject({
      kind: 'consensus',
      reason: 'bad-cb-height',
      debug: 'block height mismatch in coinbase',
    });
  });

  test('is reported for all but the shortest push of the height', () =>
    expect(checkBlockContext(blockOf([coinbaseAt('0101')]), genesis, consensus)?.reason).toBe('bad-cb-height'));

  test('is not reported before BIP-34', () =>
    expect(checkBlockContext(blockOf([coinbaseAt('ff')]), genesis, regtestWith(['bip34@2']).consensus)).toBeNull());
});

describe('witness commitment', () => {
  const spend = txOf({ inputs: [input(1, { witness: [Uint8Array.of(1, 2, 3)] })] });
  const check = (coinbase: Transaction, params = consensus) =>
    checkBlockContext(blockOf([coinbase, spend]), genesis, params);
  const good = committedCoinbase([spend]);
  const withWitness = (...witness: Uint8Array[]) => ({ ...good, inputs: [{ ...good.inputs[0]!, witness }] });

  test('a witness with a commitment passes', () => expect(check(good)).toBeNull());

  test('bad-witness-nonce-size', () => {
    for (const coinbase of [
      withWitness(),
      withWitness(new Uint8Array(31)),
      withWitness(new Uint8Array(33)),
      withWitness(new Uint8Array(32), new Uint8Array(32)),
    ])
      expect(check(coinbase)).toMatchObject({
        kind: 'mutated',
        reason: 'bad-witness-nonce-size',
        debug: 'CheckWitnessMalleation : invalid witness reserved value size',
      });
  });

  test('bad-witness-merkle-match', () => {
    expect(check(withWitness(new Uint8Array(32).fill(1)))).toMatchObject({
      kind: 'mutated',
      reason: 'bad-witness-merkle-match',
      debug: 'CheckWitnessMalleation : witness merkle commitment mismatch',
    });
    expect(check(committedCoinbase([]))?.reason).toBe('bad-witness-merkle-match');
  });

  test('unexpected-witness: a witness without a commitment, or before segwit', () => {
    const expected = {
      kind: 'mutated',
      reason: 'unexpected-witness',
      debug: 'CheckWitnessMalleation : unexpected witness data found',
    };
    expect(check(coinbaseOf())).toMatchObject(expected);
    expect(check(good, regtestWith(['segwit@2']).consensus)).toMatchObject(expected);
    // Before segwit an output with the form of a commitment has no meaning.
    const bare = blockOf([withWitness(), txOf()]);
    expect(checkBlockContext(bare, genesis, regtestWith(['segwit@2']).consensus)).toBeNull();
  });

  test('the last output with the form of a commitment counts', () => {
    const decoy = output(0n, Uint8Array.fromHex(`6a24aa21a9ed${'00'.repeat(32)}`));
    const [reward, commitment] = good.outputs as [never, never];
    expect(check({ ...good, outputs: [reward, decoy, commitment] })).toBeNull();
    expect(check({ ...good, outputs: [reward, commitment, decoy] })?.reason).toBe('bad-witness-merkle-match');
    // At least 38 bytes are required; more may follow.
    const longer = output(0n, Uint8Array.fromHex(`6a24aa21a9ed${'00'.repeat(33)}`));
    const shorter = output(0n, Uint8Array.fromHex(`6a24aa21a9ed${'00'.repeat(31)}`));
    expect(witnessCommitmentIndex(txOf({ outputs: [reward, longer, shorter] }))).toBe(1);
    expect(witnessCommitmentIndex(txOf({ outputs: [reward, shorter] }))).toBe(-1);
  });
});

describe('bad-blk-weight', () => {
  test('the witness counts once, the rest four times', () => {
    const capacity = 4_200_000;
    const blockWith = (length: number) => {
      const other = txOf({ inputs: [input(1, { witness: [new Uint8Array(length)] })] });
      return blockOf([committedCoinbase([other], capacity), other], { capacity });
    };
    const small = blockWith(100_000);
    const spare = 4_000_000 - (small.strippedSize * 3 + small.raw.length);
    const full = blockWith(100_000 + spare);
    expect(full.strippedSize * 3 + full.raw.length).toBe(4_000_000);
    expect(checkBlockContext(full, genesis, consensus)).toBeNull();
    expect(checkBlockContext(blockWith(100_001 + spare), genesis, consensus)).toMatchObject({
      kind: 'consensus',
      reason: 'bad-blk-weight',
      debug: 'ContextualCheckBlock : weight limit failed',
    });
  });
});
