import { expect, test } from 'bun:test';
import { JobThread } from '../../src/util/job-thread.ts';

test('a thread has one job at a time', async () => {
  let posted = 0;
  const worker = { postMessage: () => posted++, terminate() {} } as unknown as Worker;
  const thread = new JobThread<string, string>('test', () => worker);
  const first = thread.runJob('first');
  expect(() => thread.runJob('second')).toThrow('the test thread has one job at a time');
  expect(posted).toBe(1);
  worker.onmessage!({ data: { result: 'done' } } as MessageEvent);
  expect(await first).toBe('done');
  const third = thread.runJob('third');
  thread.close();
  expect(await third.catch((error) => error.message)).toBe('the test thread is closed');
});
