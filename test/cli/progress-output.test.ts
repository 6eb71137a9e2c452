import { describe, expect, test } from 'bun:test';
import { progressLine, progressOn } from '../../src/cli/progress-output.ts';
import { durationText as duration } from '../../src/util/duration.ts';

const at = (seconds: number, share = seconds / 100) => ({
  height: 1000 + seconds * 10,
  blocks: seconds * 10,
  inputs: seconds * 1000,
  bytes: share * 1e6,
  totalBytes: 1e6,
  elapsedMs: seconds * 1000,
});

/** Returns the text sent to a terminal of `width` columns, or to a file (null). */
function shown(width: number | null) {
  const writes: string[] = [];
  return { writes, progress: progressOn({ write: (text) => writes.push(text), columns: () => width }) };
}

describe('progress without a terminal', () => {
  test('prints a line at once, then every ten seconds, then the last state', () => {
    const { writes, progress } = shown(null);
    for (let s = 1; s <= 25; s++) progress.update(at(s));
    progress.finish();
    expect(writes).toEqual([
      '1%  height 1,010  10 blocks/s  1,000 inputs/s  1m 39s left\n',
      '11%  height 1,110  10 blocks/s  1,000 inputs/s  1m 29s left\n',
      '21%  height 1,210  10 blocks/s  1,000 inputs/s  1m 19s left\n',
      '25%  height 1,250  10 blocks/s  1,000 inputs/s  1m 15s left\n',
    ]);
  });

  test('prints nothing when there was no update', () => {
    const { writes, progress } = shown(null);
    progress.finish();
    expect(writes).toEqual([]);
  });
});

describe('progress on a terminal', () => {
  test('redraws one line and ends it at finish', () => {
    const { writes, progress } = shown(100);
    progress.update(at(1));
    progress.update(at(50));
    progress.finish();
    expect(writes).toHaveLength(3);
    expect(writes[1]).toStartWith('\r[###############...............]  50%  height 1,500');
    expect(writes[1]).toEndWith('\x1b[K');
    expect(writes[2]).toBe('\n');
  });

  const rates = { blocks: 12_345.6, inputs: 98_765.4, bytes: 1000 };
  test.each([
    [100, '[###############...............]  50%  height 1,500  12,346 blocks/s  98,765 inputs/s  8m 20s left'],
    [60, '[####....]  50%  height 1,500  12,346 blocks/s  8m 20s left'],
    [40, ' 50%  height 1,500  8m 20s left'],
    [20, ' 50%  height 1,500'],
    [10, ' 50%'],
    [3, ' 5'],
    [1, ''],
  ])('the progress line at a width of %p columns', (width, expected) => {
    const line = progressLine(at(50), rates, width);
    expect(line.length).toBeLessThan(width);
    expect(line).toBe(expected);
  });

  test('the progress line fits every width', () => {
    for (let width = 1; width < 200; width++) expect(progressLine(at(50), rates, width).length).toBeLessThan(width);
  });
});

test('rates cover the last seconds, not the whole run', () => {
  const { writes, progress } = shown(null);
  for (let s = 0; s <= 100; s++) progress.update({ ...at(s), blocks: s < 50 ? 0 : (s - 50) * 7 });
  progress.finish();
  expect(writes.at(-1)).toContain(' 7 blocks/s');
});

test('100 % is shown only when all bytes are imported', () => {
  expect(progressLine(at(99, 0.9999), null, null)).toStartWith('99%');
  expect(progressLine(at(100), null, null)).toStartWith('100%');
  expect(progressLine({ ...at(0), totalBytes: 0 }, null, null)).toStartWith('0%');
});

test.each([
  [0.2, '1s'],
  [59.5, '1m 00s'],
  [200, '3m 20s'],
  [7500, '2h 05m'],
  [273_600, '3d 04h'],
])('%p seconds are shown as %s', (seconds, text) => expect(duration(seconds)).toBe(text));
