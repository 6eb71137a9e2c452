import { expect, test } from 'bun:test';
import { Outbox } from '../../src/util/outbox.ts';

function rethrow(_: unknown, error: unknown): never {
  throw error;
}

const iteration = () => new Promise((resolve) => setImmediate(resolve));

test('a message is posted at once, and collected ones together after the other tasks, in order', async () => {
  const posted: (readonly number[])[] = [];
  const outbox = new Outbox<number>((messages) => posted.push(messages), rethrow);
  outbox.send(1);
  expect(posted).toEqual([[1]]);
  outbox.collect();
  outbox.send(2);
  await Promise.resolve();
  outbox.collect();
  outbox.send(3);
  expect(posted).toHaveLength(1);
  await iteration();
  expect(posted).toEqual([[1], [2, 3]]);
  outbox.send(4);
  expect(posted).toEqual([[1], [2, 3], [4]]);
});

test('collected messages are posted with all buffers that are transferred with them', async () => {
  const transferred: ArrayBuffer[] = [];
  const outbox = new Outbox<string>((_, transfer) => transferred.push(...transfer), rethrow);
  const [a, b, c] = [1, 2, 3].map((size) => new ArrayBuffer(size)) as [ArrayBuffer, ArrayBuffer, ArrayBuffer];
  outbox.collect();
  outbox.send('one', [a]);
  outbox.send('two');
  outbox.send('three', [b, c]);
  await iteration();
  expect(transferred).toEqual([a, b, c]);
});

test('a message that cannot be posted is reported, and the others are posted in order', async () => {
  const { port1, port2 } = new MessageChannel();
  const received: unknown[] = [];
  port2.onmessage = ({ data }) => received.push(...data);
  const lost: [unknown, string][] = [];
  const outbox = new Outbox<unknown>(
    (messages, transfer) => port1.postMessage(messages, transfer),
    (message, error) => lost.push([message, (error as Error).name]),
  );
  const bad = { reply: () => {} };
  const bytes = new Uint8Array(8);
  outbox.collect();
  outbox.send('first');
  outbox.send(bad);
  outbox.send({ bytes }, [bytes.buffer]);
  outbox.send('last');
  while (received.length < 3) await iteration();
  expect(received).toEqual(['first', { bytes: new Uint8Array(8) }, 'last']);
  expect(bytes.length).toBe(0);
  expect(lost).toEqual([[bad, 'DataCloneError']]);
  port1.close();
});
