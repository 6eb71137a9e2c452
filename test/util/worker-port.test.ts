import { expect, test } from 'bun:test';
import { startWorker } from '../../src/util/worker.ts';
import { WorkerPort } from '../../src/util/worker-port.ts';

function echoPort(): { port: WorkerPort<{ prefix: string }, string, string>; started: () => number } {
  let count = 0;
  const start = () => {
    count++;
    return startWorker(new URL('./echo-worker.ts', import.meta.url), null);
  };
  const port = new WorkerPort<{ prefix: string }, string, string>({ start, options: { prefix: '> ' }, onFailure() {} });
  return { port, started: () => count };
}

test('a worker answers the requests of its port in order', async () => {
  const { port, started } = echoPort();
  expect(port.isRunning).toBe(false);
  const answers = await Promise.all(['a', 'fail', 'b'].map((text) => port.request(text)));
  expect(answers).toEqual([
    { ok: true, answer: '> a' },
    { ok: false, error: 'asked to fail', ended: false },
    { ok: true, answer: '> b' },
  ]);
  expect(started()).toBe(1);
  await port.close(5000);
  expect(port.isRunning).toBe(false);
});

test('a worker that has ended fails its requests and is replaced by the next one', async () => {
  const { port, started } = echoPort();
  const lost = await Promise.all(['exit', 'a'].map((text) => port.request(text)));
  expect(lost).toEqual(Array(2).fill({ ok: false, error: 'the thread ended', ended: true }));
  expect(await port.request('b')).toEqual({ ok: true, answer: '> b' });
  expect(started()).toBe(2);
  await port.close(5000);
});
