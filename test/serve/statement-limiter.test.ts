import { expect, test } from 'bun:test';
import { NODE } from '../../src/http/owner.ts';
import { StatementLimiter } from '../../src/serve/statement-limiter.ts';

/** Work that lasts until it is ended. */
function openWork(limiter: StatementLimiter, owner: string) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const state = { running: false, end: resolve };
  const done = limiter.run(owner, () => {
    state.running = true;
    return promise;
  });
  return { state, done };
}

test('work waits while the limit of its owner runs, but not for that of others or of the server', async () => {
  const limiter = new StatementLimiter(2);
  const first = Array.from({ length: 4 }, () => openWork(limiter, 'key a'));
  const [other, own] = [openWork(limiter, 'key b'), openWork(limiter, NODE)];
  await Promise.resolve();
  expect(first.map(({ state }) => state.running)).toEqual([true, true, false, false]);
  expect([other.state.running, own.state.running]).toEqual([true, true]);
  first[1]!.state.end();
  await first[1]!.done;
  expect(first.map(({ state }) => state.running)).toEqual([true, true, true, false]);
  for (const { state } of [...first, other, own]) state.end();
  await Promise.all([...first, other, own].map(({ done }) => done));
  expect(first[3]!.state.running).toBe(true);
});

test('work that fails lets the next one run', async () => {
  const limiter = new StatementLimiter(1);
  const failing = limiter.run('key a', () => Promise.reject(new Error('the database cannot be reached')));
  const next = limiter.run('key a', async () => 'rows');
  await expect(failing).rejects.toThrow('cannot be reached');
  expect(await next).toBe('rows');
});
