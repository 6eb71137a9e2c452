import { describe, expect, test } from 'bun:test';
import { type Counts, LocalCounts } from '../../src/util/counts.ts';
import { SharedCounts } from '../../src/util/shared-counts.ts';

const kinds: readonly (readonly [string, () => Counts])[] = [
  ['LocalCounts', () => new LocalCounts()],
  ['SharedCounts', () => new SharedCounts()],
];

describe.each(kinds)('%s', (_, make) => {
  test('an addition beyond the limit changes nothing', () => {
    const counts = make();
    expect([counts.add('a', 2), counts.add('a', 2), counts.add('a', 2)]).toEqual([true, true, false]);
    expect(counts.get('a')).toBe(2);
    expect(counts.add('a', 10, 9)).toBe(false);
    expect(counts.add('a', 11, 9)).toBe(true);
  });

  test('a subtraction makes room, and never leaves less than zero', () => {
    const counts = make();
    counts.add('a', 1);
    counts.subtract('a');
    expect(counts.get('a')).toBe(0);
    counts.subtract('a', 5);
    expect(counts.add('a', 1)).toBe(true);
    expect(counts.get('b')).toBe(0);
  });

  test('a count is set to a value, whatever it was', () => {
    const counts = make();
    for (const value of [5, 2, 0, 7]) {
      counts.set('a', value);
      expect(counts.get('a')).toBe(value);
    }
    expect([counts.add('a', 8), counts.add('a', 8)]).toEqual([true, false]);
  });
});

test('threads count together', async () => {
  const counts = new SharedCounts();
  const rounds = 20_000;
  const most = 30_000;
  const added = await Promise.all(
    [1, 2].map(() => {
      const worker = new Worker(new URL('./counts-worker.ts', import.meta.url).href);
      return new Promise<number>((resolve, reject) => {
        worker.onmessage = ({ data }: MessageEvent<number>) => resolve(data);
        worker.onerror = ({ message }) => reject(new Error(message));
        worker.postMessage({ shared: counts.shared, most, rounds });
      }).finally(() => worker.terminate());
    }),
  );
  expect(added[0]! + added[1]!).toBe(most);
  expect(counts.get('limited')).toBe(most);
  expect(counts.get('moving')).toBe(rounds);
});

test('ten thousand names have counts of their own, and leave no trace', () => {
  const counts = new SharedCounts();
  for (let i = 0; i < 10_000; i++) expect(counts.add(`name ${i}`, 1 + (i % 3), 1 + (i % 3))).toBe(true);
  for (let i = 0; i < 10_000; i++) expect(counts.get(`name ${i}`)).toBe(1 + (i % 3));
  for (let i = 0; i < 10_000; i++) counts.subtract(`name ${i}`, 3);
  expect(new Float64Array(counts.shared.slice(-8 * 8 * 16_384)).some((value) => value !== 0)).toBe(false);
});

test('a name without room in its set is not counted', () => {
  const counts = new SharedCounts();
  let i = 0;
  while (counts.add(`name ${i}`, 1)) i++;
  expect(i).toBeGreaterThan(4096);
  expect(counts.get(`name ${i}`)).toBe(0);
  counts.subtract(`name ${i}`);
  for (let j = 0; j < i; j++) expect(counts.get(`name ${j}`)).toBe(1);
});
