import { expect, test } from 'bun:test';
import { runParallel } from '../../src/util/parallel.ts';

const NEVER = new AbortController().signal;

test('work on all items runs, with at most the given number at once', async () => {
  let running = 0;
  let most = 0;
  const done: number[] = [];
  await runParallel([1, 2, 3, 4, 5, 6, 7], 3, NEVER, async (item) => {
    most = Math.max(most, ++running);
    await new Promise(setImmediate);
    running--;
    done.push(item);
  });
  expect(done.sort()).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(most).toBe(3);
});

test('a failure aborts the other work, ends the items, and is thrown when all work has ended', async () => {
  let closed = false;
  function* items() {
    try {
      for (let i = 0; ; i++) yield i;
    } finally {
      closed = true;
    }
  }
  const ended: string[] = [];
  const run = runParallel(items(), 2, NEVER, async (item, signal) => {
    if (item === 1) throw new Error('the second item fails');
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    ended.push(`item ${item}`);
  });
  await expect(run).rejects.toThrow('the second item fails');
  expect(ended).toEqual(['item 0']);
  expect(closed).toBe(true);
});

test('an error of the items themselves is thrown', async () => {
  function* items() {
    yield 1;
    throw new Error('a file cannot be read');
  }
  await expect(runParallel(items(), 2, NEVER, async () => {})).rejects.toThrow('a file cannot be read');
});

test('an abort ends the run with its reason', async () => {
  const abort = new AbortController();
  let started = 0;
  const run = runParallel([1, 2, 3], 1, abort.signal, async () => {
    started++;
    abort.abort(new Error('stopped by SIGTERM'));
  });
  await expect(run).rejects.toThrow('stopped by SIGTERM');
  expect(started).toBe(1);
});
