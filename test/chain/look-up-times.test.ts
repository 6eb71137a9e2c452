import { describe, expect, test } from 'bun:test';
import { LookUpTimes } from '../../src/chain/look-up-times.ts';

/** Connects blocks with `lookUps` look-ups of `ns` each; returns for which of them look-ups were announced. */
function connect(times: LookUpTimes, blocks: number, ns: number, lookUps = 100): boolean[] {
  return Array.from({ length: blocks }, () => {
    const slow = times.areSlow();
    for (let i = 0; i < lookUps; i++) times.addTime(ns);
    return slow;
  });
}

describe('look-ups of coins', () => {
  test('are not announced while they are fast', () => {
    expect(connect(new LookUpTimes(), 100, 3_000)).not.toContain(true);
  });

  test('are announced from the second block on when they are slow, except in each sixteenth block', () => {
    const announced = connect(new LookUpTimes(), 48, 200_000);
    expect(announced.map((is, block) => (is ? null : block)).filter((block) => block !== null)).toEqual([0, 16, 32]);
  });

  test('stay announced while the announcement makes them fast', () => {
    const times = new LookUpTimes();
    for (let block = 0; block < 64; block++) {
      const slow = times.areSlow();
      expect(slow).toBe(block % 16 !== 0);
      for (let i = 0; i < 100; i++) times.addTime(slow ? 3_000 : 200_000);
    }
  });

  test('are no longer announced when they have become fast', () => {
    const times = new LookUpTimes();
    connect(times, 16, 200_000);
    expect(connect(times, 32, 3_000).slice(1)).not.toContain(true);
  });

  test('keep the last measurement when a measured block needs none', () => {
    const times = new LookUpTimes();
    connect(times, 16, 200_000);
    expect(connect(times, 16, 200_000, 0).slice(1)).not.toContain(false);
  });
});
