import { describe, expect, test } from 'bun:test';
import { QueueClosing, SerialQueue } from '../../src/util/serial-queue.ts';

const failures: string[] = [];
const queueOf = () => new SerialQueue('the queue', ({ message }) => failures.push(message));
const never = new Promise<void>(() => {});

describe('SerialQueue', () => {
  test('runs calls one after another, in the order in which they were made', async () => {
    const queue = queueOf();
    const order: string[] = [];
    const first = Promise.withResolvers<void>();
    const calls = [
      queue.run(async () => {
        order.push('first starts');
        await first.promise;
        order.push('first ends');
      }),
      queue.run(async () => order.push('second')),
    ];
    await new Promise(setImmediate);
    expect(queue.running).toBeTrue();
    first.resolve();
    await Promise.all(calls);
    expect(order).toEqual(['first starts', 'first ends', 'second']);
    expect(queue.running).toBeFalse();
  });

  test('rejects all calls after one that throws, with the same error', async () => {
    const queue = queueOf();
    failures.length = 0;
    expect(queue.run(() => Promise.reject(new Error('disk full')))).rejects.toThrow('disk full');
    expect(queue.run(async () => {})).rejects.toThrow('disk full');
    await new Promise(setImmediate);
    expect(queue.stopped?.message).toBe('disk full');
    expect(failures).toEqual(['disk full']);
  });

  test('interrupt ends the wait of the running call, and later waits that are not ready', async () => {
    const queue = queueOf();
    const waiting = queue.run(() => queue.waitFor(never, false));
    const unready = queue.run(() => queue.waitFor(never, false));
    const ready = queue.run(() => queue.waitFor(Promise.resolve(), true));
    await new Promise(setImmediate);
    queue.interrupt();
    expect(waiting).rejects.toBeInstanceOf(QueueClosing);
    expect(unready).rejects.toThrow('the queue is being closed');
    await ready;
    expect(queue.stopped).toBeNull();
  });

  test('rejects calls after close', () => {
    const queue = queueOf();
    queue.close();
    expect(queue.run(async () => {})).rejects.toThrow('the queue is closed');
  });
});
