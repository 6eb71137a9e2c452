import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { BoundedQueue } from '../../src/util/queue.ts';

describe('at the bound', () => {
  test('refuse turns the new item away', () => {
    const queue = new BoundedQueue<number>(2);
    expect([queue.offer(1), queue.offer(2), queue.offer(3)]).toEqual([true, true, false]);
    expect([queue.poll(), queue.poll(), queue.poll()]).toEqual([1, 2, undefined]);
    expect(queue.lost).toBe(1);
  });

  test('drop-oldest forgets the oldest item', () => {
    const queue = new BoundedQueue<number>(2, 'drop-oldest');
    expect([queue.offer(1), queue.offer(2), queue.offer(3)]).toEqual([true, true, true]);
    expect([queue.poll(), queue.poll(), queue.poll()]).toEqual([2, 3, undefined]);
    expect(queue.lost).toBe(1);
  });

  test('put waits for room', async () => {
    const queue = new BoundedQueue<number>(1);
    await queue.put(1);
    let done = false;
    const second = queue.put(2).then(() => {
      done = true;
    });
    await Promise.resolve();
    expect(done).toBe(false);
    expect(await queue.take()).toBe(1);
    await second;
    expect(await queue.take()).toBe(2);
  });
});

test('take waits, and waiters are served in turn', async () => {
  const queue = new BoundedQueue<string>(4);
  const both = Promise.all([queue.take(), queue.take()]);
  queue.offer('a');
  queue.offer('b');
  expect(await both).toEqual(['a', 'b']);
  expect(queue.size).toBe(0);
});

test('close lets what is inside out, and wakes everybody who waits', async () => {
  const queue = new BoundedQueue<number>(1);
  await queue.put(1);
  const waiting = queue.put(2);
  queue.close();
  expect(await waiting).toBe(false);
  expect(queue.offer(3)).toBe(false);
  expect([await queue.take(), await queue.take()]).toEqual([1, undefined]);
  const empty = new BoundedQueue<number>(1);
  const taker = empty.take();
  empty.close();
  expect(await taker).toBeUndefined();
});

test('an aborted waiter neither takes an item nor adds one', async () => {
  const queue = new BoundedQueue<number>(1);
  const stop = new AbortController();
  const taker = queue.take(stop.signal);
  stop.abort(new Error('stop'));
  await expect(taker).rejects.toThrow('stop');
  queue.offer(1);
  expect(queue.size).toBe(1);
  const again = new AbortController();
  const putter = queue.put(2, again.signal);
  again.abort(new Error('again'));
  await expect(putter).rejects.toThrow('again');
  expect([queue.poll(), queue.poll()]).toEqual([1, undefined]);
  await expect(queue.take(stop.signal)).rejects.toThrow('stop');
});

test('as an iterable it ends when it is closed and empty', async () => {
  const queue = new BoundedQueue<number>(3);
  const producer = (async () => {
    for (let i = 0; i < 10; i++) await queue.put(i);
    queue.close();
  })();
  const seen: number[] = [];
  for await (const item of queue) seen.push(item);
  await producer;
  expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test('behaves as an array cut to its bound', () => {
  const operations = fc.array(fc.option(fc.integer(), { nil: undefined }), { maxLength: 60 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.boolean(), operations, (capacity, dropOldest, ops) => {
      const queue = new BoundedQueue<number>(capacity, dropOldest ? 'drop-oldest' : 'refuse');
      const model: number[] = [];
      for (const item of ops) {
        if (item === undefined) expect(queue.poll()).toBe(model.shift()!);
        else {
          const full = model.length === capacity;
          if (full && dropOldest) model.shift();
          if (!full || dropOldest) model.push(item);
          expect(queue.offer(item)).toBe(!full || dropOldest);
        }
        expect(queue.size).toBe(model.length);
      }
    }),
  );
});
