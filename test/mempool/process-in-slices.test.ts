import { expect, test } from 'bun:test';
import { processInSlices } from '../../src/mempool/process-in-slices.ts';

function busy(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

test('every item is processed once, and other tasks run between the slices', async () => {
  const taken: number[] = [];
  const turns: number[] = [];
  let parts = 0;
  const turn = () => {
    turns.push(taken.length);
    if (taken.length < 6) setImmediate(turn);
  };
  setImmediate(turn);
  const run = async <T>(work: () => T) => {
    parts++;
    return work();
  };
  await processInSlices([1, 2, 3, 4, 5, 6].values(), { run, signal: new AbortController().signal }, (item) => {
    taken.push(item);
    // One of these items ends a slice.
    busy(9);
  });
  expect(taken).toEqual([1, 2, 3, 4, 5, 6]);
  expect(parts).toBe(7);
  expect(turns.filter((count) => count > 0 && count < 6).length).toBeGreaterThan(2);
});

test('the first slice may be longer than the others', async () => {
  let parts = 0;
  const run = async <T>(work: () => T) => {
    parts++;
    return work();
  };
  const deps = { run, signal: new AbortController().signal, firstMs: Number.POSITIVE_INFINITY };
  await processInSlices([1, 2, 3].values(), deps, () => busy(9));
  expect(parts).toBe(1);
});

test('no item is processed after the signal aborts', async () => {
  const abort = new AbortController();
  const taken: number[] = [];
  const run = async <T>(work: () => T) => work();
  const ended = processInSlices([1, 2, 3].values(), { run, signal: abort.signal }, (item) => {
    taken.push(item);
    abort.abort(new Error('enough'));
    busy(9);
  });
  await expect(ended).rejects.toThrow('enough');
  expect(taken).toEqual([1]);
});
