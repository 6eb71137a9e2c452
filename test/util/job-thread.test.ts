import { expect, test } from 'bun:test';
import { JobThread } from '../../src/util/job-thread.ts';

/** A thread whose messages the test sends. */
function pretendedWorker() {
  const seen = { posted: 0, terminated: 0 };
  const worker = {
    postMessage: () => seen.posted++,
    terminate: () => seen.terminated++,
    addEventListener() {},
  } as unknown as Worker;
  return { seen, worker, send: (data: unknown) => worker.onmessage!({ data } as MessageEvent) };
}

test('a thread has one job at a time', async () => {
  const { seen, worker, send } = pretendedWorker();
  const thread = new JobThread<string, string>('test', () => worker);
  const first = thread.runJob('first');
  expect(() => thread.runJob('second')).toThrow('the test thread has one job at a time');
  send('loaded');
  await Promise.resolve();
  expect(seen.posted).toBe(1);
  send({ result: 'done' });
  expect(await first).toBe('done');
  const third = thread.runJob('third').catch((error) => error.message);
  await thread.close();
  expect(await third).toBe('the test thread is closed');
  expect(seen.terminated).toBe(1);
});

test('a thread that is closed while it loads is ended once it has loaded, and receives no job', async () => {
  const [old, next] = [pretendedWorker(), pretendedWorker()];
  const workers = [old.worker, next.worker];
  const thread = new JobThread<string, string>('test', () => workers.shift()!);
  const job = thread.runJob('first').catch((error) => error.message);
  const closed = thread.close();
  expect(await job).toBe('the test thread is closed');
  expect(old.seen).toEqual({ posted: 0, terminated: 0 });
  // The next job has a thread of its own, and replies of the old one do not belong to it.
  const second = thread.runJob('second');
  old.send('loaded');
  await closed;
  expect(old.seen).toEqual({ posted: 0, terminated: 1 });
  old.send({ result: 'late' });
  next.send('loaded');
  await Promise.resolve();
  next.send({ result: 'done' });
  expect(await second).toBe('done');
  expect(next.seen).toEqual({ posted: 1, terminated: 0 });
});

test('a thread that fails while it loads does not hold up its end', async () => {
  const { seen, worker } = pretendedWorker();
  const thread = new JobThread<string, string>('test', () => worker);
  const job = thread.runJob('first').catch((error) => error.message);
  const closed = thread.close();
  worker.onerror!({ message: 'out of memory' } as ErrorEvent);
  await closed;
  expect(await job).toBe('the test thread is closed');
  expect(seen).toEqual({ posted: 0, terminated: 0 });
});
