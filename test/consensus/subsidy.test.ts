import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { blockSubsidy, issuedSupply, maxSupply } from '../../src/consensus/subsidy.ts';

describe('subsidy', () => {
  for (const interval of [210_000, 150, 1000])
    test(`halves every ${interval} blocks, 64 times`, () => {
      let previous = 10_000_000_000n;
      for (let halving = 0; halving < 64; halving++) {
        const subsidy = blockSubsidy(halving * interval, interval);
        expect(subsidy).toBe(previous / 2n);
        expect(blockSubsidy((halving + 1) * interval - 1, interval)).toBe(subsidy);
        previous = subsidy;
      }
      expect(blockSubsidy(64 * interval, interval)).toBe(0n);
    });

  test('the sum of all subsidies', () => {
    expect(maxSupply(210_000)).toBe(2_099_999_997_690_000n);
    expect(maxSupply(150)).toBe(1_499_999_998_350n);
  });

  test('the issued supply up to a height includes the genesis block', () => {
    expect(issuedSupply(0, 210_000)).toBe(5_000_000_000n);
    expect(issuedSupply(110, 150)).toBe(555_000_000_000n);
    expect(issuedSupply(860_730, 210_000)).toBe(1_975_228_437_500_000n);
    expect(issuedSupply(14_000_000, 210_000)).toBe(2_099_999_997_690_000n);
  });

  test('the issued supply is the sum over its blocks', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 0, max: 3000 }), (interval, height) => {
        let sum = 0n;
        for (let at = 0; at <= height; at++) sum += blockSubsidy(at, interval);
        expect(issuedSupply(height, interval)).toBe(sum);
      }),
      { numRuns: 30 },
    );
  });
});
