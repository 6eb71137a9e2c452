import { expect, test } from 'bun:test';
import { Outbox } from '../../src/util/outbox.ts';

const iteration = () => new Promise((resolve) => setImmediate(resolve));

test('a message is posted at once, and collected ones together after the other tasks, in order', async () => {
  const posted: (readonly number[])[] = [];
  const outbox = new Outbox<number>((messages) => posted.push(messages));
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
  const outbox = new Outbox<string>((_, transfer) => transferred.push(...transfer));
  const [a, b, c] = [1, 2, 3].map((size) => new ArrayBuffer(size)) as [ArrayBuffer, ArrayBuffer, ArrayBuffer];
  outbox.collect();
  outbox.send('one', [a]);
  outbox.send('two');
  outbox.send('three', [b, c]);
  await iteration();
  expect(transferred).toEqual([a, b, c]);
});
