import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { medianTimePast } from '../../src/consensus/header-entry.ts';
import { chainOf } from './chain-fixture.ts';

test('the median time past covers the last eleven blocks, and is the upper one of an even number', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 0xffff_ffff }), { minLength: 1, maxLength: 30 }), (times) => {
      const tip = chainOf(times.length, (height) => ({ time: times[height]!, bits: 0x207f_ffff }));
      const last = times.slice(-11).sort((a, b) => a - b);
      expect(medianTimePast(tip)).toBe(last[Math.floor(last.length / 2)]!);
    }),
  );
});
