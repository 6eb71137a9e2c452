import { expect, test } from 'bun:test';
import { Backlog } from '../../src/node/backlog.ts';

test('a sender waits at the limit until enough is acknowledged or the backlog closes', async () => {
  const backlog = new Backlog(1000);
  backlog.addSent(999);
  expect(backlog.whenRoom()).toBeNull();
  backlog.addSent(2000);
  const waiting = [backlog.whenRoom()!, backlog.whenRoom()!];
  let ended = 0;
  for (const one of waiting) void one.then(() => ended++);
  backlog.acknowledge(1999);
  await Promise.resolve();
  expect([ended, backlog.whenRoom() === null]).toEqual([0, false]);
  backlog.acknowledge(1);
  await Promise.all(waiting);
  expect(backlog.whenRoom()).toBeNull();

  backlog.addSent(1);
  const last = backlog.whenRoom()!;
  expect(last).toBeInstanceOf(Promise);
  backlog.close();
  await last;
  backlog.addSent(5000);
  expect(backlog.whenRoom()).toBeNull();
});
