import { expect, test } from 'bun:test';
import { nextWebhookBatch } from '../../src/webhooks/webhook-batch.ts';
import { LogFixture, update } from '../lib/log-fixture.ts';
import { NO_WATCHES, sourcesOf } from './delivery-fixture.ts';

const FILTER = { types: new Set(['newBlock', 'mempoolUpdate']), watches: NO_WATCHES, wallets: null, limit: 100 };

interface Message {
  readonly type: string;
  readonly data: { readonly scope?: string; readonly seq?: number };
}

const batchOf = async (it: LogFixture, from: number, gapTo: number) => {
  const { texts, ...batch } = await nextWebhookBatch(
    sourcesOf(it),
    { ...FILTER, from: { seq: from, within: 'z' }, gapTo },
    AbortSignal.timeout(1000),
  );
  return { ...batch, messages: texts.map((text) => JSON.parse(text) as Message) };
};

test('a gap of the chain is reported behind a gap of the mempool with higher numbers', async () => {
  // The numbers of the process before end with 10,000, and so does the gap of the mempool at its start.
  using it = new LogFixture({ rows: [1, 2, 3, 4, 5], first: 10_001 });
  const first = await batchOf(it, 1, 0);
  expect(first.messages.map(({ data }) => data.scope ?? data.seq)).toEqual(['mempool', 2, 3, 4, 5]);
  expect(first.gapTo).toBe(10_000);
  // The hook was paused, and the log no longer has all blocks behind its position.
  it.prune(5);
  const later = await batchOf(it, 2, first.gapTo);
  expect(later.messages.map(({ data }) => data.scope ?? data.seq)).toEqual(['all', 5]);
  // Gaps of the mempool stay reported.
  expect(later.gapTo).toBe(10_000);
});

test('a gap of the chain suppresses no later gap of the mempool', async () => {
  using it = new LogFixture({ rows: [1, 2, 3, 4, 5] });
  it.prune(5);
  const { messages, gapTo } = await batchOf(it, 1, 0);
  expect(messages.map(({ data }) => data.scope ?? data.seq)).toEqual(['all', 5]);
  expect(gapTo).toBe(0);
});

test('events that are evicted while a batch with a gap is read are in the gap', async () => {
  using it = new LogFixture({ rows: [1, 2, 3, 4, 5], limits: { entries: 1 } });
  it.prune(5);
  const reading = batchOf(it, 1, 0);
  it.log.append([update(6), update(7)]);
  const { messages, gapTo } = await reading;
  expect(messages.slice(0, 2).map(({ data }) => data)).toMatchObject([
    { scope: 'all', fromSeq: 2, toSeq: 4 },
    { scope: 'mempool', toSeq: 6 },
  ]);
  expect(gapTo).toBe(6);
});
