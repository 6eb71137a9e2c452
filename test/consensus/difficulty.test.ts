import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { nextWorkRequired, permittedDifficultyTransition, retarget } from '../../src/consensus/difficulty.ts';
import { expandBits } from '../../src/consensus/work.ts';
import { mainnet } from '../../src/params/mainnet.ts';
import { regtest } from '../../src/params/regtest.ts';
import { testnet4 } from '../../src/params/testnet4.ts';
import { chainOf, TestEntry } from './chain-fixture.ts';

const main = mainnet.consensus;
const bip94 = testnet4.consensus;
const testnet3 = { ...bip94, enforceBip94: false };
const EASIEST = 0x1d00_ffff;

describe('retargets of the main chain', () => {
  // Height of the last block of the period, time of its first and last block, bits of the last, new bits.
  test.each([
    ['block 32256', 32_255, 1_261_130_161, 1_262_152_739, 0x1d00_ffff, 0x1d00_d86a],
    ['not easier than the limit', 2015, 1_231_006_505, 1_233_061_996, 0x1d00_ffff, 0x1d00_ffff],
    ['at most four times harder', 68_543, 1_279_008_237, 1_279_297_671, 0x1c05_a3f4, 0x1c01_68fd],
    ['at most four times easier', 46_367, 1_263_163_443, 1_269_211_443, 0x1c38_7f6f, 0x1d00_e1fd],
  ])('%s', (_title, height, first, last, bits, expected) => {
    expect(retarget({ time: last, bits }, { time: first, bits }, main)).toBe(expected);
    expect(permittedDifficultyTransition(height + 1, bits, expected, main)).toBe(true);
  });

  test('at most a fourfold change is permitted', () => {
    expect(permittedDifficultyTransition(68_544, 0x1c05_a3f4, 0x1c01_68fd - 1, main)).toBe(false);
    expect(permittedDifficultyTransition(46_368, 0x1c38_7f6f, 0x1d00_e1fd + 1, main)).toBe(false);
  });

  test('within a period the bits must not change', () => {
    expect(permittedDifficultyTransition(2017, 0x1c05_a3f4, 0x1c05_a3f4, main)).toBe(true);
    expect(permittedDifficultyTransition(2017, 0x1c05_a3f4, 0x1c05_a3f5, main)).toBe(false);
    expect(permittedDifficultyTransition(2017, 0x1c05_a3f4, 0x1c05_a3f5, bip94)).toBe(true);
  });

  test('every retarget is a permitted transition', () => {
    const time = fc.integer({ min: 1_231_006_505, max: 0xffff_ffff });
    fc.assert(
      fc.property(time, time, fc.integer({ min: 0x1b00_8000, max: 0x1b7f_ffff }), (first, last, bits) => {
        const next = retarget({ time: last, bits }, { time: first, bits }, main);
        expect(permittedDifficultyTransition(2016, bits, next, main)).toBe(true);
        const target = expandBits(bits).target;
        expect(expandBits(next).target).toBeLessThanOrEqual(target * 4n);
      }),
    );
  });
});

describe('nextWorkRequired', () => {
  test('keeps the bits within a period and changes them at its end', () => {
    // 2016 blocks at half the spacing; 2015 intervals are measured.
    const tip = chainOf(2016, (height) => ({ time: 1_231_006_505 + height * 300, bits: 0x1c00_ffff }));
    expect(nextWorkRequired(tip.parent!, 0, main)).toBe(0x1c00_ffff);
    expect(nextWorkRequired(tip, 0, main)).toBe(0x1b7f_ef3f);
  });

  const tip = new TestEntry(
    chainOf(10, (height) => ({ time: height * 600, bits: 0x1c00_ffff })),
    { time: 6000, bits: EASIEST },
  );

  test('test networks: a block after more than 20 minutes may have the easiest target', () => {
    for (const params of [testnet3, bip94]) {
      expect(nextWorkRequired(tip, 6000 + 1201, params)).toBe(EASIEST);
      // Otherwise the difficulty before the easy blocks applies.
      expect(nextWorkRequired(tip, 6000 + 1200, params)).toBe(0x1c00_ffff);
    }
  });

  test('test networks: the search for the previous difficulty ends at the start of the period', () => {
    const easy = chainOf(2020, () => ({ time: 0, bits: EASIEST }));
    expect(nextWorkRequired(easy, 0, bip94)).toBe(EASIEST);
    const start = chainOf(2017, (height) => ({ time: 0, bits: height === 2016 ? EASIEST : 0x1c00_ffff }));
    const next = new TestEntry(start, { time: 0, bits: EASIEST });
    expect(nextWorkRequired(next, 0, bip94)).toBe(EASIEST);
  });

  test('BIP-94: the retarget uses the first block of a period, not an easy last one', () => {
    const bitsAt = (height: number) => (height === 2015 ? EASIEST : 0x1c00_ffff);
    // 2015 intervals that sum up to the target timespan.
    const end = chainOf(2016, (height) => ({ time: height === 2015 ? 1_209_600 : height * 600, bits: bitsAt(height) }));
    expect(nextWorkRequired(end, 0, bip94)).toBe(0x1c00_ffff);
    expect(nextWorkRequired(end, 0, testnet3)).toBe(EASIEST);
  });

  test('regtest never retargets', () => {
    const end = chainOf(144, () => ({ time: 0, bits: 0x207f_ffff }));
    expect(nextWorkRequired(end, 0, regtest.consensus)).toBe(0x207f_ffff);
  });
});
