import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { feeForSize, feeratePerKvB, feerateText } from '../../src/policy/feerate.ts';
import { adjustedWeight, virtualSize } from '../../src/policy/virtual-size.ts';

describe('the fee for a size', () => {
  // Core's GetFeeTest.
  test.each([
    [0n, 0, 0n],
    [0n, 100_000, 0n],
    [1000n, 0, 0n],
    [1000n, 1, 1n],
    [1000n, 121, 121n],
    [1000n, 9000, 9000n],
    [-1000n, 0, 0n],
    [-1000n, 1, -1n],
    [-1000n, 121, -121n],
    [-1000n, 9000, -9000n],
    [123n, 0, 0n],
    [123n, 8, 1n],
    [123n, 9, 2n],
    [123n, 121, 15n],
    [123n, 122, 16n],
    [123n, 999, 123n],
    [123n, 1000, 123n],
    [123n, 9000, 1107n],
    [-123n, 0, 0n],
    [-123n, 8, -1n],
    [-123n, 9, -1n],
  ])('%p for %p vB is %p', (feerate, vsize, fee) => expect(feeForSize(feerate, vsize)).toBe(fee));

  test('is the least fee of the default relay rate, at and above a whole satoshi', () => {
    expect(feeForSize(100n, 10)).toBe(1n);
    expect(feeForSize(100n, 11)).toBe(2n);
    expect(feeForSize(100n, 110)).toBe(11n);
    expect(feeForSize(100n, 141)).toBe(15n);
  });

  test('is rounded up to a whole satoshi', () => {
    expect(feeForSize(1n, 1)).toBe(1n);
    expect(feeForSize(1n, 1000)).toBe(1n);
    expect(feeForSize(1n, 1001)).toBe(2n);
  });

  test('is the least fee that reaches the rate', () => {
    fc.assert(
      fc.property(fc.bigInt(1n, 2n ** 50n), fc.integer({ min: 1, max: 4_000_000 }), (feerate, vsize) => {
        const fee = feeForSize(feerate, vsize);
        expect(fee * 1000n >= feerate * BigInt(vsize)).toBe(true);
        expect((fee - 1n) * 1000n < feerate * BigInt(vsize)).toBe(true);
      }),
    );
  });
});

describe('paid feerates', () => {
  test('are rounded down to satoshis per 1,000 vB', () => {
    expect(feeratePerKvB({ fee: 2n, vsize: 1001 })).toBe(1n);
    expect(feeratePerKvB({ fee: 1n, vsize: 1000 })).toBe(1n);
    expect(feeratePerKvB({ fee: -1n, vsize: 1001 })).toBe(-1n);
    expect(feeratePerKvB({ fee: -2n, vsize: 1000 })).toBe(-2n);
    expect(feeratePerKvB({ fee: 1n, vsize: 1 })).toBe(1000n);
    expect(feeratePerKvB({ fee: 1n, vsize: 0 })).toBe(0n);
  });

  test('are formatted in coins per 1,000 vB', () => {
    expect(feerateText(0n)).toBe('0.00000000 BTC/kvB');
    expect(feerateText(1n)).toBe('0.00000001 BTC/kvB');
    expect(feerateText(123_456_789n)).toBe('1.23456789 BTC/kvB');
  });
});

describe('virtual size', () => {
  test('counts four units of weight as one byte, rounded up', () => {
    expect(virtualSize(400, 0, 20)).toBe(100);
    expect(virtualSize(401, 0, 20)).toBe(101);
    expect(virtualSize(404, 0, 20)).toBe(101);
    expect(virtualSize(405, 0, 20)).toBe(102);
  });

  test('counts a sigop with at least the configured weight', () => {
    expect(adjustedWeight(400, 20, 20)).toBe(400);
    expect(adjustedWeight(400, 21, 20)).toBe(420);
    expect(adjustedWeight(400, 21, 0)).toBe(400);
    expect(virtualSize(400, 20, 20)).toBe(100);
    expect(virtualSize(400, 21, 20)).toBe(105);
    expect(virtualSize(400, 1, 401)).toBe(101);
  });
});
