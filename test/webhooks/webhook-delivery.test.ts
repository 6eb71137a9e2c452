import { describe, expect, test } from 'bun:test';
import type { LogEntry } from '../../src/feed/log-entry.ts';
import { ApiError } from '../../src/http/errors.ts';
import { unixSeconds } from '../../src/util/clock.ts';
import { LiveChain } from '../feed/live-chain.ts';
import { chainWithCoins } from '../lib/chain-builder.ts';
import { LogFixture } from '../lib/log-fixture.ts';
import { lockOf, spend } from '../lib/tx-builder.ts';
import { DeliveryFixture, FAILED, NO_WATCHES, sourcesOf } from './delivery-fixture.ts';

const SHOP = lockOf('p2wpkh', 9);

test('a read that takes longer than the idle time delivers the events that it has found', async () => {
  // Rows before the start are read 32 at a time, here from a slow disk.
  const rows = Array.from({ length: 640 }, (_, i) => i + 1);
  using log = new LogFixture({ rows, typeOf: (seq) => (seq === 2 ? 'newBlock' : 'reorg') });
  const { after } = log.log;
  log.log.after = (...args): { entries: LogEntry[]; scanned: number } => {
    Bun.sleepSync(3);
    return after.apply(log.log, args);
  };
  await using it = new DeliveryFixture(sourcesOf(log), 1, { idleMs: 10 });
  it.hook.start();
  await it.until('the block', () => it.sent.length > 0);
  expect(it.sent.map(({ types }) => types)).toEqual([['newBlock']]);
});

describe('failures of events that are no longer to be delivered do not count', () => {
  test('after the hook has moved', async () => {
    using log = new LogFixture({ rows: [1, 2] });
    await using it = new DeliveryFixture(sourcesOf(log), 1, { clock: log.clock });
    it.answer = () => FAILED;
    it.hook.start();
    await it.until('a failure', () => it.hook.state.failures === 1);
    log.clock.advance(9000);
    await it.hook.moveTo(log.point(2));
    expect(it.hook.state).toMatchObject({ failures: 0, failingSince: null, nextAttemptAt: null });
    expect(it.saved.at(-1)).toMatchObject({ failingFor: null });
    // The next failure is the first one.
    log.clock.advance(9000);
    log.write(3);
    log.log.committed(3);
    await it.until('a failure', () => it.hook.state.failures === 1);
    expect([it.hook.status, it.disabled]).toEqual(['active', 0]);
  });

  test('when the hook moves while they are delivered', async () => {
    using log = new LogFixture({ rows: [1, 2] });
    await using it = new DeliveryFixture(sourcesOf(log), 1, { clock: log.clock });
    const reply = Promise.withResolvers<typeof FAILED>();
    it.answer = () => reply.promise;
    it.hook.start();
    await it.until('an attempt', () => it.sent.length === 1);
    await it.hook.moveTo(log.point(2));
    it.answer = () => ({ ok: true, status: 200 });
    reply.resolve(FAILED);
    log.write(3);
    log.log.committed(3);
    // No pause follows the failure.
    await it.until('the next block', () => it.sent.length === 2);
    expect(it.saved.every(({ failingFor }) => failingFor === null)).toBe(true);
    expect(it.hook.state.failures).toBe(0);
  });

  test('when their watch is removed', async () => {
    const chain = chainWithCoins(2);
    await using chainOf = await LiveChain.start(chain.blocks.slice(1));
    const { context } = chainOf.api;
    const body = JSON.stringify({ kind: 'script', value: SHOP.scriptPubKey.toHex() });
    const watch = (await (await chainOf.get('/api/watches', { method: 'POST', body })).json()) as { id: string };
    await using it = new DeliveryFixture(context, chainOf.lastSeq, {
      types: ['addressTransaction'],
      idleMs: 20,
      watchesOf: () => context.watches.watchesOf('static'),
    });
    it.answer = () => FAILED;
    it.hook.start();
    await chainOf.take(chain.mine(1, { txs: [spend(chain.coin(1), [{ to: SHOP, value: 1000n }])] }));
    await it.until('a failure', () => it.hook.state.failures > 0);
    await chainOf.get(`/api/watches/${watch.id}`, { method: 'DELETE' });
    await it.until('no failure', () => it.hook.state.failures === 0);
    expect(it.hook.state).toMatchObject({ status: 'active', failures: 0, failingSince: null });
  });
});

test('a delivery of a gap alone is repeated with the same id and the same body', async () => {
  using log = new LogFixture({ rows: [1, 2] });
  await using it = new DeliveryFixture(sourcesOf(log), 1, {
    // The cursor is of a log that was replaced.
    position: 'lostlost000000001c',
    clock: log.clock,
    maxPauseMs: 1,
  });
  it.answer = () => FAILED;
  it.hook.start();
  await it.until('a failure', () => it.hook.state.failures === 1);
  log.write(3);
  log.log.committed(3);
  it.answer = () => ({ ok: true, status: 200 });
  log.clock.advance(10);
  it.hook.resume();
  await it.until('the block', () => it.sent.some(({ types }) => types[0] === 'newBlock'));
  const [first, again, block] = it.sent;
  expect(first!.types).toEqual(['gap']);
  expect(again).toEqual(first!);
  // The gap ends where it ended at the first attempt, so the block that came later is delivered.
  expect(block!.types).toEqual(['newBlock']);
});

test('a hook whose events cannot be read is failing until they can', async () => {
  using log = new LogFixture({ rows: [1, 2] });
  let isPruned = true;
  await using it = new DeliveryFixture(sourcesOf(log), 1, {
    clock: log.clock,
    watchesOf: () => {
      if (isPruned) throw new ApiError('block_pruned', 'the block has been pruned');
      return NO_WATCHES;
    },
  });
  it.hook.start();
  await it.until('an error', () => it.hook.state.lastError !== null);
  expect(it.hook.isFailing).toBe(true);
  expect(it.hook.state).toMatchObject({ failures: 1, lastError: { code: 'block_pruned' } });
  expect(it.hook.state.failingSince).toBe(unixSeconds(log.clock));
  isPruned = false;
  it.hook.resume();
  await it.until('the block', () => it.sent.length === 1);
  await it.until('no failure', () => !it.hook.isFailing);
  expect(it.hook.state).toMatchObject({ failures: 0, failingSince: null, lastError: null });
});
