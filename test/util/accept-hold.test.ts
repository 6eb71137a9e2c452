import { afterEach, expect, test } from 'bun:test';
import { AcceptHold } from '../../src/util/accept-hold.ts';

/** A thread that counts up while it accepts connections. */
interface Acceptor {
  readonly worker: Worker;
  readonly count: Int32Array;
}

const started: Worker[] = [];
afterEach(() => {
  for (const worker of started.splice(0)) worker.terminate();
});

function reply(worker: Worker): Promise<unknown> {
  return new Promise((resolve) => worker.addEventListener('message', ({ data }) => resolve(data), { once: true }));
}

async function startAcceptor(hold: AcceptHold): Promise<Acceptor> {
  const worker = new Worker(new URL('./accept-hold-worker.ts', import.meta.url).href);
  started.push(worker);
  const count = new Int32Array(new SharedArrayBuffer(4));
  worker.postMessage({ shared: hold.shared, count });
  expect(await reply(worker)).toBe('started');
  await untilMoved(count, 0);
  return { worker, count };
}

/** Waits until the count has moved on from `from`. */
async function untilMoved(count: Int32Array, from: number): Promise<void> {
  while (Atomics.load(count, 0) === from) await Bun.sleep(1);
}

/** The counts before and after a pause in which this thread is blocked. */
function countsAcross(acceptors: readonly Acceptor[]): [number[], number[]] {
  const counts = () => acceptors.map(({ count }) => Atomics.load(count, 0));
  const before = counts();
  Bun.sleepSync(50);
  return [before, counts()];
}

test('no thread accepts while one holds them, and all accept afterwards', async () => {
  const hold = new AcceptHold();
  const acceptors = [await startAcceptor(hold), await startAcceptor(hold)];
  for (let n = 0; n < 5; n++) {
    const [before, after] = hold.whileHeld(() => countsAcross(acceptors));
    expect(after).toEqual(before);
    await Promise.all(acceptors.map(({ count }, i) => untilMoved(count, after[i]!)));
  }
});

test('a thread that has ended is not waited for', async () => {
  const hold = new AcceptHold();
  const { worker } = await startAcceptor(hold);
  worker.postMessage('end');
  expect(await reply(worker)).toBe('ended');
  const from = performance.now();
  expect(hold.whileHeld(() => 7)).toBe(7);
  expect(performance.now() - from).toBeLessThan(500);
});

test('a thread that accepts itself holds the others, and the error of the call is thrown', async () => {
  const hold = new AcceptHold();
  hold.start();
  const acceptor = await startAcceptor(hold);
  const [before, after] = hold.whileHeld(() => countsAcross([acceptor]));
  expect(after).toEqual(before);
  const failing = () =>
    hold.whileHeld(() => {
      throw new Error('no thread');
    });
  expect(failing).toThrow('no thread');
  await untilMoved(acceptor.count, after[0]!);
  hold.end();
});

test('a busy thread delays the call for half a second at most', () => {
  const hold = new AcceptHold();
  // Counts as an accepting thread, and answers nothing.
  Atomics.add(new Int32Array(hold.shared), 2, 1);
  expect(hold.whileHeld(() => 1)).toBe(1);
});
