import { describe, expect, test } from 'bun:test';
import { calculateSequenceLocks, evaluateSequenceLocks, isFinalTx } from '../../src/consensus/locktime.ts';
import { type Coin, txPosition } from '../../src/primitives/coin.ts';
import { input, output, txOf } from './block-fixture.ts';
import { chainOf } from './chain-fixture.ts';

const SPENDABLE = 0xffff_fffe;

describe('isFinalTx', () => {
  const locked = (locktime: number, ...sequences: number[]) =>
    txOf({ locktime, inputs: sequences.map((sequence, seed) => input(seed, { sequence })) });

  test('compares a locktime below 500,000,000 with the height', () => {
    expect(isFinalTx(locked(100, SPENDABLE), 100, 2e9)).toBe(false);
    expect(isFinalTx(locked(100, SPENDABLE), 101, 0)).toBe(true);
    expect(isFinalTx(locked(499_999_999, SPENDABLE), 499_999_999, 2e9)).toBe(false);
  });

  test('compares a locktime from 500,000,000 on with the time', () => {
    expect(isFinalTx(locked(500_000_000, SPENDABLE), 600_000_000, 500_000_000)).toBe(false);
    expect(isFinalTx(locked(500_000_000, SPENDABLE), 0, 500_000_001)).toBe(true);
  });

  test('is true without a locktime, or if all sequences are final', () => {
    expect(isFinalTx(locked(0, 0), 0, 0)).toBe(true);
    expect(isFinalTx(locked(100, 0xffff_ffff, 0xffff_ffff), 0, 0)).toBe(true);
    expect(isFinalTx(locked(100, 0xffff_ffff, SPENDABLE), 0, 0)).toBe(false);
  });
});

describe('BIP-68', () => {
  // Median time past of height h is 1000 * (h - 5) from height 10 on.
  const parent = chainOf(101, (height) => ({ time: height * 1000, bits: 0x207f_ffff }));
  const coinAt = (height: number): Coin => ({ output: output(1n), position: txPosition(height, 1) });
  const locksOf = (version: number, ...inputs: [sequence: number, coinHeight: number][]) =>
    calculateSequenceLocks(
      txOf({ version, inputs: inputs.map(([sequence], seed) => input(seed, { sequence })) }),
      inputs.map(([, height]) => coinAt(height)),
      parent,
    );
  const TIME = 1 << 22;

  test('version 1 has no locks, and the version is unsigned', () => {
    expect(locksOf(1, [10, 50])).toEqual({ height: -1, time: -1 });
    expect(locksOf(0, [10, 50])).toEqual({ height: -1, time: -1 });
    expect(locksOf(2, [10, 50])).toEqual({ height: 59, time: -1 });
    expect(locksOf(0xffff_ffff, [10, 50])).toEqual({ height: 59, time: -1 });
  });

  test('the disable flag removes the lock of an input', () => {
    expect(locksOf(2, [0x8000_000a, 50])).toEqual({ height: -1, time: -1 });
    expect(locksOf(2, [0x8000_000a, 50], [3, 20])).toEqual({ height: 22, time: -1 });
  });

  test('only the low 16 bits count', () => expect(locksOf(2, [0x7fbf_0001, 50])).toEqual({ height: 50, time: -1 }));

  test('times count in units of 512 seconds from the median time past before the coin', () => {
    expect(locksOf(2, [TIME | 2, 50])).toEqual({ height: -1, time: 44_000 + 1024 - 1 });
    // A coin of the block itself counts from the median time past of the parent, one of the genesis block from its own
    // time.
    expect(locksOf(2, [TIME, 101])).toEqual({ height: -1, time: 95_000 - 1 });
    expect(locksOf(2, [TIME | 1, 0])).toEqual({ height: -1, time: 511 });
  });

  test('the strictest lock of all inputs applies, separately for height and time', () =>
    expect(locksOf(2, [5, 60], [9, 50], [TIME | 1, 30], [TIME | 1, 20])).toEqual({ height: 64, time: 24_511 }));

  test('a lock is satisfied by the next height or time', () => {
    expect(evaluateSequenceLocks({ height: -1, time: -1 }, 0, 0)).toBe(true);
    expect(evaluateSequenceLocks({ height: 100, time: -1 }, 100, 0)).toBe(false);
    expect(evaluateSequenceLocks({ height: 99, time: -1 }, 100, 0)).toBe(true);
    expect(evaluateSequenceLocks({ height: -1, time: 500 }, 100, 500)).toBe(false);
    expect(evaluateSequenceLocks({ height: -1, time: 499 }, 100, 500)).toBe(true);
  });
});
