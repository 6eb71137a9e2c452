import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { SeenChange } from '../../src/feed/mempool-feed.ts';
import type { MempoolChange } from '../../src/mempool/changes.ts';
import { restRoutes } from '../../src/rest/rest-routes.ts';
import { BEARER, startTestApi, type TestApi } from '../lib/api-fixture.ts';
import type { ApiOverrides } from '../lib/default-options.ts';
import { poll } from '../lib/node-process.ts';
import { WebhookReceiver } from '../lib/webhook-receiver.ts';

const LOCAL = { allowedNetworks: ['127.0.0.0/8'], maxPauseMs: 1000 };

const start = (overrides: ApiOverrides = {}) =>
  startTestApi({ overrides: { webhooks: LOCAL, ...overrides }, plugins: [(context) => restRoutes(context)] });

interface Reply {
  readonly status: number;
  readonly body: {
    readonly id: string;
    readonly status: string;
    readonly cursor: string;
    readonly items: readonly { readonly id: string; readonly lastError: { readonly code: string } | null }[];
    readonly types: readonly string[];
    readonly error: { readonly code: string; readonly details: Record<string, unknown> };
  };
}

async function ask(it: TestApi, method: string, path: string, body?: unknown): Promise<Reply> {
  const response = await it.get(`/api/webhooks${path}`, {
    method,
    headers: BEARER,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  expect(response.headers.get('cache-control')).toBe('no-store');
  return { status: response.status, body: (await response.json()) as Reply['body'] };
}

const update = (seq: number): MempoolChange => ({
  kind: 'update',
  seq,
  data: `{"seq":${seq},"time":1700000000}`,
  totals: {} as never,
});

/** The mempool changes `count` times. */
function change(it: TestApi, count: number): void {
  it.api.context.events.append(Array.from({ length: count }, () => update(it.node.takeSeq()) as SeenChange));
}

describe('missing events become a gap', () => {
  test('when events of the chain were pruned while the webhook was paused', async () => {
    await using it = start();
    using receiver = new WebhookReceiver();
    const { body } = await ask(it, 'POST', '', { url: receiver.url, types: ['newBlock'] });
    await ask(it, 'POST', `/${body.id}/pause`);
    it.node.mine(50);
    it.node.prune(10);
    await ask(it, 'POST', `/${body.id}/resume`);
    await receiver.until('ten blocks', () => receiver.messages.length === 11);
    const [gap, ...blocks] = receiver.messages;
    expect(gap).toMatchObject({ type: 'gap', data: { scope: 'all' } });
    expect(blocks.map(({ data }) => data.height)).toEqual(Array.from({ length: 10 }, (_, i) => 41 + i));
    expect(receiver.accepted[0]!.cursor).toBe(receiver.accepted[0]!.events.at(-1)!.data.cursor);
  });

  test('when events of the mempool were evicted while the receiver did not accept them', async () => {
    await using it = start({ limits: { eventLog: { entries: 20, bytes: 1e9, ageMs: 1e9 } } });
    using receiver = new WebhookReceiver();
    receiver.answer = () => new Response(null, { status: 500 });
    await ask(it, 'POST', '', { url: receiver.url, types: ['mempoolUpdate'] });
    change(it, 1);
    await receiver.until('a failure', () => receiver.deliveries.length > 0);
    change(it, 60);
    receiver.answer = () => new Response('ok');
    await receiver.until('the kept events', () => receiver.distinct('mempoolUpdate').length === 20);
    const [gap] = receiver.messages;
    expect(gap).toMatchObject({ type: 'gap', data: { scope: 'mempool' } });
    const { fromSeq, toSeq } = gap!.data as unknown as { fromSeq: number; toSeq: number };
    expect(toSeq - fromSeq + 1).toBe(41);
    expect(receiver.messages.filter(({ type }) => type === 'gap')).toHaveLength(1);
    // All later events arrive.
    change(it, 5);
    await receiver.until('the next events', () => receiver.distinct('mempoolUpdate').length === 25);
    const numbers = receiver.distinct('mempoolUpdate').map(({ data }) => data.seq!);
    expect(numbers).toEqual(numbers.map((_, i) => numbers[0]! + i));
  });
});

test('a delivery holds at most the events that the webhook allows', async () => {
  await using it = start();
  using receiver = new WebhookReceiver();
  const types = ['newBlock'];
  await ask(it, 'POST', '', { url: `${receiver.url}1`, types, maxEvents: 1, after: 0 });
  await ask(it, 'POST', '', { url: `${receiver.url}2`, types, maxEvents: 7, after: 0 });
  it.node.mine(40);
  await receiver.until('all blocks twice', () => receiver.messages.length === 82);
  const sizes = (path: string) =>
    receiver.accepted.filter((delivery) => delivery.path === path).map(({ events }) => events.length);
  expect(Math.max(...sizes('/hook1'))).toBe(1);
  expect(Math.max(...sizes('/hook2'))).toBe(7);
});

describe('a request is refused', () => {
  test.each([
    ['types', { types: 'newBlock' }],
    ['types', { types: [] }],
    ['types', { types: ['newBlock', 'feeUpdate'] }],
    ['wallets', { wallets: 'w' }],
    ['wallets', { wallets: [1] }],
    ['label', { label: 'x'.repeat(201) }],
    ['maxEvents', { maxEvents: 0 }],
    ['maxEvents', { maxEvents: 101 }],
    ['maxEvents', { maxEvents: '5' }],
    ['secret', { secret: 'secret' }],
    ['secret', { secret: 'whsec_AAAA' }],
    ['after', { after: -1 }],
    ['after', { after: 1e9 }],
    ['after', { after: {} }],
    ['url', { url: `https://shop.example/${'x'.repeat(2000)}` }],
    ['url', { url: 5 }],
    ['url', { url: 'https://shop.example:0/' }],
  ])('for its %s', async (parameter, more) => {
    await using it = start();
    const { status, body } = await ask(it, 'POST', '', { url: 'https://shop.example/', ...more });
    expect({ status, ...body.error }).toMatchObject({ status: 400, code: 'invalid_parameter', details: { parameter } });
    expect((await ask(it, 'GET', '')).body.items).toEqual([]);
    expect(existsSync(join(it.dir, 'webhooks.db'))).toBe(false);
  });

  test('for a webhook that does not exist', async () => {
    await using it = start();
    for (const id of ['x', 'a'.repeat(16)]) {
      for (const name of ['pause', 'resume', 'test', 'secret'])
        expect((await ask(it, 'POST', `/${id}/${name}`)).status).toBe(404);
      expect((await ask(it, 'POST', `/${id}/replay`, { after: 0 })).status).toBe(404);
      expect((await ask(it, 'DELETE', `/${id}`)).status).toBe(404);
    }
  });

  test('beyond the limit of all keys', async () => {
    await using it = start({ webhooks: { ...LOCAL, total: 1 } });
    expect((await ask(it, 'POST', '', { url: 'https://shop.example/' })).status).toBe(200);
    const { status, body } = await ask(it, 'POST', '', { url: 'https://shop.example/' });
    expect({ status, ...body.error }).toMatchObject({ status: 409, code: 'limit_exceeded', details: { limit: 1 } });
  });
});

test('the secret is in no reply but the first one, and in no line of the log', async () => {
  await using it = start();
  using receiver = new WebhookReceiver();
  const { body } = await ask(it, 'POST', '', { url: receiver.url, types: ['newBlock'] });
  const { secret } = body as unknown as { secret: string };
  receiver.answer = () => new Response(null, { status: 500 });
  it.node.mine();
  await receiver.until('a failure', () => receiver.deliveries.length > 0);
  const replies = [
    await ask(it, 'GET', ''),
    await ask(it, 'GET', `/${body.id}`),
    await ask(it, 'POST', `/${body.id}/test`),
  ];
  const shown = JSON.stringify(replies) + it.logged.join('\n') + JSON.stringify(receiver.deliveries);
  expect(shown).not.toContain(secret.slice('whsec_'.length));
  expect(shown).not.toContain(Buffer.from(secret.slice('whsec_'.length), 'base64').toHex());
});

test('the length of a URL is that of its normal form', async () => {
  await using it = start();
  const url = `https://shop.example/${'é'.repeat(500)}`;
  const { status, body } = await ask(it, 'POST', '', { url });
  expect([status, body.error.details.parameter]).toEqual([400, 'url']);
});

test('a previous secret leaves the file when its time is over', async () => {
  await using it = start();
  const { body } = await ask(it, 'POST', '', { url: 'http://127.0.0.1:9/', types: ['newBlock'] });
  const previous = () => {
    using db = new Database(join(it.dir, 'webhooks.db'), { readonly: true });
    return db.query<{ previous: Uint8Array | null }, []>('SELECT previous FROM webhooks').get()!.previous;
  };
  await ask(it, 'POST', `/${body.id}/secret`, { overlap: 1 });
  expect(previous()).not.toBeNull();
  await poll('no previous secret', () => previous() === null);
});

test('a webhook that is resumed while it is disabled has one status in memory and in its file', async () => {
  await using it = start({ webhooks: { ...LOCAL, disableAfterMs: 1 } });
  using receiver = new WebhookReceiver();
  const reply = Promise.withResolvers<Response>();
  receiver.answer = () => (receiver.deliveries.length === 1 ? new Response(null, { status: 500 }) : reply.promise);
  const { body } = await ask(it, 'POST', '', { url: receiver.url, types: ['newBlock'] });
  it.node.mine(1);
  await receiver.until('the second attempt', () => receiver.deliveries.length === 2);
  reply.resolve(new Response(null, { status: 500 }));
  await Bun.sleep(0);
  // The webhook thread gets the reply while this thread is busy, so the outcome arrives before the change is stored.
  Bun.sleepSync(300);
  const { status } = await it.api.context.webhooks.setStatus('static', body.id, 'active');
  // Changes are stored in their order, so those before this one are stored.
  await ask(it, 'POST', `/${body.id}/secret`);
  const stored = () => {
    using db = new Database(join(it.dir, 'webhooks.db'), { readonly: true });
    return db.query<{ status: string }, []>('SELECT status FROM webhooks').get()!.status;
  };
  expect([status, stored()]).toEqual(['active', 'active']);
  expect((await ask(it, 'GET', `/${body.id}`)).body.status).toBe('active');
});
