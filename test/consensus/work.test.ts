import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  bitsFromTarget,
  checkProofOfWork,
  deriveTarget,
  difficultyOf,
  expandBits,
  hashMeetsTarget,
  proofEquivalentTime,
  targetToHex,
  workOf,
} from '../../src/consensus/work.ts';
import { hashFromHex } from '../../src/primitives/hash.ts';

const MAIN_LIMIT = (1n << 224n) - 1n;
const REGTEST_LIMIT = (1n << 255n) - 1n;

/** A number as a little-endian hash. */
function hashOf(value: bigint): Uint8Array {
  return hashFromHex(value.toString(16).padStart(64, '0'));
}

// Values of Core's arith_uint256 tests: bits, target, compact again, negative, overflow.
const COMPACT: [number, bigint, number, boolean, boolean][] = [
  [0x0000_0000, 0n, 0, false, false],
  [0x0012_3456, 0n, 0, false, false],
  [0x0100_3456, 0n, 0, false, false],
  [0x0200_0056, 0n, 0, false, false],
  [0x0300_0000, 0n, 0, false, false],
  [0x0400_0000, 0n, 0, false, false],
  [0x0092_3456, 0n, 0, false, false],
  [0x0180_3456, 0n, 0, false, false],
  [0x0280_0056, 0n, 0, false, false],
  [0x0380_0000, 0n, 0, false, false],
  [0x0480_0000, 0n, 0, false, false],
  [0x0112_3456, 0x12n, 0x0112_0000, false, false],
  [0x01fe_dcba, 0x7en, 0x017e_0000, true, false],
  [0x0212_3456, 0x1234n, 0x0212_3400, false, false],
  [0x0312_3456, 0x12_3456n, 0x0312_3456, false, false],
  [0x0412_3456, 0x1234_5600n, 0x0412_3456, false, false],
  [0x0492_3456, 0x1234_5600n, 0x0412_3456, true, false],
  [0x0500_9234, 0x9234_0000n, 0x0500_9234, false, false],
  [0x2012_3456, 0x12_3456n << 232n, 0x2012_3456, false, false],
];

describe('compact targets', () => {
  for (const [bits, target, again, negative, overflow] of COMPACT)
    test(`0x${bits.toString(16).padStart(8, '0')}`, () => {
      expect(expandBits(bits)).toEqual({ target, negative, overflow });
      expect(bitsFromTarget(target)).toBe(again);
    });

  test('a size beyond 256 bits overflows', () => {
    expect(expandBits(0xff12_3456)).toMatchObject({ negative: false, overflow: true });
    expect(expandBits(0x2300_0001).overflow).toBe(true);
    expect(expandBits(0x2200_0001).overflow).toBe(false);
    expect(expandBits(0x2200_0100).overflow).toBe(true);
    expect(expandBits(0x2101_0000).overflow).toBe(true);
    expect(expandBits(0x2100_ffff).overflow).toBe(false);
  });

  test('the sign bit is never part of the mantissa', () => {
    expect(bitsFromTarget(0x80n)).toBe(0x0200_8000);
    expect(bitsFromTarget(MAIN_LIMIT)).toBe(0x1d00_ffff);
    expect(bitsFromTarget(REGTEST_LIMIT)).toBe(0x207f_ffff);
    expect(bitsFromTarget((1n << 256n) - 1n)).toBe(0x2100_ffff);
  });

  test('bitsFromTarget rounds a target down to its leading bytes', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, (1n << 256n) - 1n), (target) => {
        const { target: rounded, negative, overflow } = expandBits(bitsFromTarget(target));
        expect(negative || overflow).toBe(false);
        expect(rounded).toBeLessThanOrEqual(target);
        // At least two bytes are kept.
        expect(target - rounded).toBeLessThanOrEqual(target >> 15n);
        expect(bitsFromTarget(rounded)).toBe(bitsFromTarget(target));
      }),
    );
  });
});

describe('proof of work', () => {
  test('the limit is a valid target, one compact step above is not', () => {
    expect(deriveTarget(0x1d00_ffff, MAIN_LIMIT)).toBe(0xffffn << 208n);
    expect(deriveTarget(0x1d01_0000, MAIN_LIMIT)).toBeNull();
    expect(deriveTarget(0x207f_ffff, REGTEST_LIMIT)).toBe(0x7f_ffffn << 232n);
  });

  test('negative, zero, overflowing and too easy targets never pass', () => {
    for (const bits of [0x1d80_ffff, 0, 0xff7f_ffff, 0x1d01_fffe])
      expect(checkProofOfWork(hashOf(1n), bits, MAIN_LIMIT)).toBe(false);
    expect(checkProofOfWork(hashOf(1n), 0x1d00_ffff, MAIN_LIMIT)).toBe(true);
  });

  test('a hash equal to the target meets it, a greater one does not', () => {
    const target = 0xffffn << 208n;
    expect(hashMeetsTarget(hashOf(target), target)).toBe(true);
    expect(hashMeetsTarget(hashOf(target + 1n), target)).toBe(false);
    expect(checkProofOfWork(hashOf(target + 1n), 0x1d00_ffff, MAIN_LIMIT)).toBe(false);
  });
});

describe('work and difficulty', () => {
  test('work is the expected number of hashes', () => {
    expect(workOf(0x1d00_ffff)).toBe(0x1_0001_0001n);
    expect(workOf(0x207f_ffff)).toBe(2n);
    for (const bits of [0, 0x1d80_ffff, 0xff12_3456]) expect(workOf(bits)).toBe(0n);
  });

  test('work equals the result of 256-bit arithmetic', () => {
    fc.assert(
      fc.property(fc.bigInt(1n, (1n << 256n) - 1n), (value) => {
        const bits = bitsFromTarget(value);
        const { target } = expandBits(bits);
        fc.pre(target > 0n);
        expect(workOf(bits)).toBe((((1n << 256n) - 1n) ^ target) / (target + 1n) + 1n);
      }),
    );
  });

  test('difficulty is the double that Core computes', () => {
    expect(difficultyOf(0x1d00_ffff)).toBe(1);
    expect(difficultyOf(0x207f_ffff)).toBe(0xffff / 0x7f_ffff / 2 ** 24);
    // Core prints 16 digits.
    expect(difficultyOf(0x207f_ffff).toPrecision(16)).toBe('4.656542373906925e-10');
    expect(difficultyOf(0x1b04_04cb).toPrecision(16)).toBe('16307.42093852398');
    expect(difficultyOf(0x1e03_77ae).toPrecision(16)).toBe('0.001126515290698186');
  });

  // Core's blockchain tests, to their tolerance.
  test.each([
    [0x1f11_1111, 0.000001],
    [0x1ef8_8f6f, 0.000016],
    [0x1df8_8f6f, 0.004023],
    [0x1cf8_8f6f, 1.029916],
  ])('difficulty of %p', (bits, expected) => expect(difficultyOf(bits)).toBeCloseTo(expected, 5));

  test('a very high difficulty has Core’s double', () => expect(difficultyOf(0x1234_5678)).toBe(5.913134931067755e24));

  test('targets have 64 hex digits', () => {
    expect(targetToHex(0xffffn << 208n)).toBe('00000000ffff0000000000000000000000000000000000000000000000000000');
    expect(targetToHex(0n)).toBe('0'.repeat(64));
  });

  test('proofEquivalentTime converts work between two chains to seconds at the rate of the tip', () => {
    const tip = { bits: 0x207f_ffff };
    expect(proofEquivalentTime({ chainwork: 20n }, { chainwork: 10n }, tip, 600)).toBe(3000);
    expect(proofEquivalentTime({ chainwork: 10n }, { chainwork: 20n }, tip, 600)).toBe(-3000);
    expect(proofEquivalentTime({ chainwork: 1n << 80n }, { chainwork: 0n }, tip, 600)).toBe(Number.POSITIVE_INFINITY);
  });
});
