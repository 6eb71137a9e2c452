import { expect, test } from 'bun:test';
import { abortable, aborted, sleep } from '../../src/util/abort.ts';

test('sleep resolves by itself', async () => {
  await sleep(1);
  await sleep(1, new AbortController().signal);
});

test('sleep rejects at once when the signal aborts or has aborted', async () => {
  const stop = new AbortController();
  const long = sleep(1e8, stop.signal);
  stop.abort(new Error('stop'));
  await expect(long).rejects.toThrow('stop');
  await expect(sleep(1e8, stop.signal)).rejects.toThrow('stop');
});

test('abortable rejects on abort, and otherwise settles as its promise does', async () => {
  const { signal } = new AbortController();
  expect(await abortable(Promise.resolve(1), signal)).toBe(1);
  await expect(abortable(Promise.reject(new Error('own')), signal)).rejects.toThrow('own');
  const stop = new AbortController();
  const given = abortable(new Promise(() => {}), stop.signal);
  stop.abort(new Error('stop'));
  await expect(given).rejects.toThrow('stop');
  await expect(abortable(new Promise(() => {}), stop.signal)).rejects.toThrow('stop');
  // A later failure of the promise is not an unhandled rejection.
  const late = Promise.withResolvers<void>();
  const dropped = abortable(late.promise, stop.signal);
  late.reject(new Error('late'));
  await expect(dropped).rejects.toThrow('stop');
});

test('aborted resolves if the signal aborts later or has aborted', async () => {
  const stop = new AbortController();
  const before = aborted(stop.signal);
  stop.abort();
  await before;
  await aborted(stop.signal);
});
