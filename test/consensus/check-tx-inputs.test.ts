import { describe, expect, test } from 'bun:test';
import { moneyText } from '../../src/consensus/money-text.ts';
import { rejectionText } from '../../src/consensus/rejection.ts';
import { type Coin, txPosition } from '../../src/primitives/coin.ts';
import { outpointKey } from '../../src/primitives/outpoint.ts';
import { checkTxInputs } from '../lib/check-tx-inputs.ts';
import { input, output, txOf } from './block-fixture.ts';

const MAX_MONEY = 2_100_000_000_000_000n;

/** Coins of the inputs with seeds 0, 1, … */
function viewOf(...coins: (Coin | null)[]) {
  const map = new Map(coins.map((coin, seed) => [outpointKey(input(seed).prevout), coin]));
  return { get: (outpoint: Parameters<typeof outpointKey>[0]) => map.get(outpointKey(outpoint)) };
}

function coin(value: bigint, height = 1, index = 1): Coin {
  return { output: output(value), position: txPosition(height, index) };
}

const one = txOf({ inputs: [input(0)], outputs: [output(600n)] });
const two = txOf({ inputs: [input(0), input(1)], outputs: [output(600n)] });

describe('checkTxInputs', () => {
  test('returns the fee', () => {
    expect(checkTxInputs(one, viewOf(coin(1000n)), 10)).toEqual({ ok: true, value: 400n });
    expect(checkTxInputs(two, viewOf(coin(500n), coin(100n)), 10)).toEqual({ ok: true, value: 0n });
    const rich = txOf({ inputs: [input(0)], outputs: [output(1n)] });
    expect(checkTxInputs(rich, viewOf(coin(MAX_MONEY)), 10)).toEqual({ ok: true, value: MAX_MONEY - 1n });
  });

  test('bad-txns-inputs-missingorspent outranks an immature coin', () => {
    const immature = coin(1000n, 9, 0);
    for (const view of [viewOf(immature), viewOf(immature, null)])
      expect(checkTxInputs(two, view, 10)).toEqual({
        ok: false,
        kind: 'missing-inputs',
        reason: 'bad-txns-inputs-missingorspent',
        debug: 'CheckTxInputs: inputs missing/spent',
      });
  });

  test('bad-txns-premature-spend-of-coinbase below a depth of 100', () => {
    expect(checkTxInputs(one, viewOf(coin(1000n, 5, 0)), 104)).toEqual({
      ok: false,
      kind: 'premature-spend',
      reason: 'bad-txns-premature-spend-of-coinbase',
      debug: 'tried to spend coinbase at depth 99',
    });
    expect(checkTxInputs(one, viewOf(coin(1000n, 5, 0)), 105).ok).toBe(true);
    expect(checkTxInputs(one, viewOf(coin(1000n, 5, 1)), 5).ok).toBe(true);
  });

  test('bad-txns-inputvalues-outofrange', () => {
    for (const view of [viewOf(coin(MAX_MONEY + 1n)), viewOf(coin(-1n))])
      expect(checkTxInputs(one, view, 10)).toMatchObject({
        kind: 'consensus',
        reason: 'bad-txns-inputvalues-outofrange',
      });
    expect(checkTxInputs(two, viewOf(coin(MAX_MONEY), coin(1n)), 10)).toMatchObject({
      reason: 'bad-txns-inputvalues-outofrange',
    });
  });

  test('bad-txns-in-belowout', () => {
    const result = checkTxInputs(one, viewOf(coin(599n)), 10);
    expect(result).toMatchObject({ ok: false, kind: 'consensus', reason: 'bad-txns-in-belowout' });
    expect(!result.ok && rejectionText(result)).toBe(
      'bad-txns-in-belowout, value in (0.00000599) < value out (0.000006)',
    );
  });
});

test.each<[bigint, string]>([
  [0n, '0.00'],
  [1n, '0.00000001'],
  [600n, '0.000006'],
  [10_000_000n, '0.10'],
  [12_345_678n, '0.12345678'],
  [100_000_000n, '1.00'],
  [112_000_000n, '1.12'],
  [112_300_000n, '1.123'],
  [MAX_MONEY, '21000000.00'],
  [-150_000_000n, '-1.50'],
])('money text of %p', (amount, text) => expect(moneyText(amount)).toBe(text));
