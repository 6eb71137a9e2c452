import { expect, test } from 'bun:test';
import { Backlog } from '../../src/node/backlog.ts';

test('whoever has much to tell waits until enough was taken in, and not for ever', async () => {
  const backlog = new Backlog(1000);
  backlog.told(999);
  expect(backlog.room()).toBeNull();
  backlog.told(2000);
  const waiting = [backlog.room()!, backlog.room()!];
  let ended = 0;
  for (const one of waiting) void one.then(() => ended++);
  backlog.taken(1999);
  await Promise.resolve();
  expect([ended, backlog.room() === null]).toEqual([0, false]);
  backlog.taken(1);
  await Promise.all(waiting);
  expect(backlog.room()).toBeNull();

  backlog.told(1);
  const last = backlog.room()!;
  expect(last).toBeInstanceOf(Promise);
  backlog.close();
  await last;
  backlog.told(5000);
  expect(backlog.room()).toBeNull();
});
