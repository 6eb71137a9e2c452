import { expect, test } from 'bun:test';
import { KeyQueue } from '../../../src/rpc/engine/key-queue.ts';
import { LocalCounts } from '../../../src/util/counts.ts';

/** Starts requests of one key whose ends are decided by the test. */
function starter(queue: KeyQueue) {
  const running: (() => void)[] = [];
  const start = async () => queue.run('key', () => new Promise<void>((resolve) => running.push(resolve)));
  return { running, start };
}

async function until(is: () => boolean): Promise<void> {
  const deadline = performance.now() + 5000;
  while (!is() && performance.now() < deadline) await Bun.sleep(1);
  expect(is()).toBe(true);
}

test('two fronts share the slots of a key, and its queue', async () => {
  const counts = new LocalCounts();
  const [a, b] = [
    new KeyQueue({ rpcMaxRunning: 2, rpcMaxQueued: 3 }, counts),
    new KeyQueue({ rpcMaxRunning: 2, rpcMaxQueued: 3 }, counts),
  ].map(starter) as [ReturnType<typeof starter>, ReturnType<typeof starter>];
  const requests = [a.start(), b.start(), a.start(), b.start(), b.start()];
  expect([a.running.length, b.running.length]).toEqual([1, 1]);
  expect(await a.start().catch((error: unknown) => error)).toMatchObject({ failure: 'rate_limited' });
  // A slot that one front releases goes to a request of any front.
  b.running.shift()!();
  await until(() => a.running.length + b.running.length === 2);
  for (let ended = 1; ended < requests.length; ended++) {
    await until(() => a.running.length + b.running.length > 0);
    (a.running.shift() ?? b.running.shift())!();
  }
  await Promise.all(requests);
  expect([counts.get('rpc running key'), counts.get('rpc waiting key')]).toEqual([0, 0]);
});

test('a front without running requests is not starved by one that always has some', async () => {
  const counts = new LocalCounts();
  const [a, b] = [
    new KeyQueue({ rpcMaxRunning: 1, rpcMaxQueued: 10 }, counts),
    new KeyQueue({ rpcMaxRunning: 1, rpcMaxQueued: 10 }, counts),
  ].map(starter) as [ReturnType<typeof starter>, ReturnType<typeof starter>];
  void a.start();
  const waiting = b.start();
  let isStopped = false;
  const busy = (async () => {
    while (!isStopped) {
      // Where the machine is busy the queue of the key is full now and then.
      a.start().catch((error: unknown) => expect(error).toMatchObject({ failure: 'rate_limited' }));
      await Bun.sleep(1);
      a.running.shift()?.();
    }
  })();
  try {
    await until(() => b.running.length === 1);
  } finally {
    isStopped = true;
    await busy;
  }
  b.running.shift()!();
  await waiting;
});

test('a slot is free while neither this front nor all of them run too many requests of the key', async () => {
  const counts = new LocalCounts();
  const queues = [
    new KeyQueue({ rpcMaxRunning: 2, rpcMaxQueued: 3 }, counts),
    new KeyQueue({ rpcMaxRunning: 2, rpcMaxQueued: 3 }, counts),
  ];
  const [a, b] = queues.map(starter) as [ReturnType<typeof starter>, ReturnType<typeof starter>];
  const free = () => queues.map((queue) => [queue.hasFreeSlot('key'), queue.hasFreeSlot('other')]);
  const requests = [a.start()];
  expect(free().flat()).toEqual([true, true, true, true]);
  requests.push(b.start());
  expect(free()).toEqual([
    [false, true],
    [false, true],
  ]);
  a.running[0]!();
  b.running[0]!();
  await Promise.all(requests);
  expect(free().flat()).toEqual([true, true, true, true]);
});

test('a lowered limit applies as running requests end, and a raised one at once', async () => {
  const limits = { rpcMaxRunning: 3, rpcMaxQueued: 5 };
  const { running, start } = starter(new KeyQueue(limits));
  const requests = [start(), start(), start(), start(), start()];
  expect(running).toHaveLength(3);
  limits.rpcMaxRunning = 1;
  const end = async () => {
    running.shift()!();
    await Bun.sleep(0);
  };
  await end();
  await end();
  expect(running).toHaveLength(1);
  await end();
  expect(running).toHaveLength(1);
  limits.rpcMaxRunning = 2;
  requests.push(start());
  expect(running).toHaveLength(2);
  for (let left = 3; left > 0; left--) await end();
  await Promise.all(requests);
});
