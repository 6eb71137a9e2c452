import { beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { AuthStore } from '../../src/auth/auth-store.ts';
import { issueKey } from '../../src/auth/issue-key.ts';
import { requireDescribedDelivery } from '../lib/async-api.ts';
import { post } from '../lib/mempool-node.ts';
import { ApiClient, type ErrorBody, type WsMessage } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess, startNode } from '../lib/node-process.ts';
import { MINING_ADDRESS } from '../lib/peer-node.ts';
import { isSignedBy, WebhookReceiver } from '../lib/webhook-receiver.ts';

cleanUpAfterTests();

const ARGS = ['--webhooks.allowedNetworks=127.0.0.0/8', '--webhooks.replyTimeout=2', '--webhooks.maxPause=1'];

interface Hook {
  readonly id: string;
  readonly secret: string | null;
  readonly status: string;
  readonly cursor: string;
  readonly lag: { readonly events: number; readonly seconds: number };
  readonly failures: number;
  readonly lastError: { readonly code: string; readonly status: number | null } | null;
}

const hookOf = (node: NodeProcess, id: string): Promise<Hook> => node.api.json<Hook>(`/api/webhooks/${id}`);

async function create(api: ApiClient, request: object): Promise<Hook> {
  const reply = await post<Hook>(api, '/api/webhooks', request);
  if (reply.status !== 200) throw new Error(reply.text);
  return reply.body;
}

const command = <T = Hook>(api: ApiClient, id: string, name: string, body: object = {}) =>
  post<T>(api, `/api/webhooks/${id}/${name}`, body);

const mine = (node: NodeProcess, count: number): Promise<string[]> =>
  node.api.rpc<string[]>('generatetoaddress', [count, MINING_ADDRESS]);

const heights = (messages: readonly { readonly data: object }[]): number[] =>
  messages.map(({ data }) => (data as { height: number }).height);

async function newKey(node: NodeProcess, scopes: string[]): Promise<{ api: ApiClient; id: string }> {
  const store = new AuthStore(join(node.networkDir, 'auth.db'));
  const { key, record } = issueKey(store, { label: '', scopes }, 1);
  store.close();
  const api = new ApiClient(node.api.url, key);
  const isKnown = async () => (await api.request('/api/blocks/tip')).status !== 401;
  await node.until('the key', isKnown, 10_000, 500);
  return { api, id: record.id };
}

describe('a webhook', () => {
  let node: NodeProcess;

  beforeAll(async () => {
    node = await startNode({ args: ARGS });
  });

  test('delivers the same events as GET /api/events, signed and in order', async () => {
    using receiver = new WebhookReceiver();
    const hook = await create(node.api, { url: `${receiver.url}?shop=1`, types: ['newBlock'], label: 'blocks' });
    const { lastCursor } = await node.api.json<{ lastCursor: string }>('/api/events');
    await mine(node, 30);
    await receiver.until('30 blocks', () => receiver.messages.length >= 30);
    const page = await node.api.json<{ items: WsMessage[] }>(`/api/events?types=newBlock&after=${lastCursor}`);
    expect(receiver.messages as unknown[]).toEqual(page.items);
    for (const delivery of receiver.accepted) {
      requireDescribedDelivery(delivery.text);
      expect(isSignedBy(delivery, hook.secret!)).toBe(true);
      expect(delivery).toMatchObject({
        path: '/hook?shop=1',
        webhook: hook.id,
        cursor: delivery.headers['webhook-id'],
      });
      expect(delivery.cursor).toBe(delivery.events.at(-1)!.data.cursor);
      expect(delivery.headers).toMatchObject({
        host: `127.0.0.1:${receiver.port}`,
        'content-type': 'application/json',
      });
      expect(Math.abs(Number(delivery.headers['webhook-timestamp']) - Date.now() / 1000)).toBeLessThan(120);
    }
    const state = await node.until('no lag', async () => {
      const { lag, ...rest } = await hookOf(node, hook.id);
      return lag.events === 0 && rest;
    });
    expect(state).toMatchObject({ status: 'active', label: 'blocks', failures: 0, lastError: null });
    expect(state).not.toHaveProperty('secret');
    expect((await node.api.request(`/api/webhooks/${hook.id}`, { method: 'DELETE' })).status).toBe(200);
  });

  test('repeats a delivery with the same id and the same events until it is accepted', async () => {
    using receiver = new WebhookReceiver();
    let refusals = 0;
    receiver.answer = () => new Response(null, { status: ++refusals <= 2 ? 500 : 200 });
    const { id } = await create(node.api, { url: receiver.url, types: ['newBlock'], maxEvents: 5 });
    await mine(node, 1);
    await receiver.until('a refusal', () => refusals >= 1);
    await mine(node, 3);
    await receiver.until('4 blocks', () => receiver.messages.length >= 4);
    const [first, ...others] = receiver.deliveries;
    for (const again of others.slice(0, 2)) {
      expect(again.text).toBe(first!.text);
      expect(again.headers['webhook-id']).toBe(first!.headers['webhook-id']!);
    }
    const found = heights(receiver.messages);
    expect(found).toEqual(found.map((_, i) => found[0]! + i));
    await node.api.request(`/api/webhooks/${id}`, { method: 'DELETE' });
  });

  test('shows its lag and its last error, pauses, continues and replays', async () => {
    using receiver = new WebhookReceiver();
    const { id, cursor } = await create(node.api, { url: receiver.url, types: ['newBlock'] });
    await mine(node, 2);
    await receiver.until('2 blocks', () => receiver.messages.length >= 2);
    expect((await command(node.api, id, 'pause')).body.status).toBe('paused');
    await mine(node, 2);
    const paused = await hookOf(node, id);
    expect(paused.lag.events).toBeGreaterThanOrEqual(2);
    expect(receiver.messages).toHaveLength(2);
    receiver.answer = () => Response.redirect(receiver.url, 302);
    await command(node.api, id, 'resume');
    const failing = await node.until('an error', async () => {
      const now = await hookOf(node, id);
      return now.lastError !== null && now;
    });
    expect(failing).toMatchObject({ lastError: { code: 'redirect', status: 302 } });
    expect(failing.failures).toBeGreaterThan(0);
    expect(failing.lag.events).toBeGreaterThan(0);
    receiver.answer = () => new Response('ok');
    await receiver.until('4 blocks', () => receiver.messages.length >= 4);
    const before = receiver.messages;
    expect((await command(node.api, id, 'replay', { after: cursor })).status).toBe(200);
    await receiver.until('4 blocks again', () => receiver.messages.length >= 8);
    expect(receiver.messages.slice(4)).toEqual(before);
    expect((await command(node.api, id, 'replay', { after: 'nothing' })).status).toBe(400);
    await node.api.request(`/api/webhooks/${id}`, { method: 'DELETE' });
  });

  test('delivers what its key watches', async () => {
    using receiver = new WebhookReceiver();
    const types = ['addressTransaction', 'confirmation'];
    const watch = { kind: 'address', value: MINING_ADDRESS, confirmations: [1, 2] };
    const watched = await post<{ id: string }>(node.api, '/api/watches', watch);
    const { id, cursor } = await create(node.api, { url: receiver.url, types });
    await mine(node, 2);
    await receiver.until('6 messages', () => receiver.messages.length >= 6);
    const page = await node.api.json<{ items: WsMessage[] }>(`/api/events?types=${types}&after=${cursor}`);
    expect(receiver.messages as unknown[]).toEqual(page.items);
    // The second confirmation is that of the block before.
    const crossings = receiver.messages.map(({ data }) => data.phase ?? data.threshold);
    expect(crossings).toEqual(['confirmed', 1, 2, 'confirmed', 1, 2]);
    await node.api.request(`/api/webhooks/${id}`, { method: 'DELETE' });
    await node.api.request(`/api/watches/${watched.body.id}`, { method: 'DELETE' });
  });

  test('sends a test message', async () => {
    using receiver = new WebhookReceiver();
    const { id, secret } = await create(node.api, { url: receiver.url, types: ['reorg'] });
    const { body } = await command<object>(node.api, id, 'test');
    expect(body).toMatchObject({ delivered: true, status: 204, error: null });
    const [delivery] = receiver.deliveries;
    requireDescribedDelivery(delivery!.text);
    expect(delivery!.events).toMatchObject([{ type: 'test' }]);
    expect(isSignedBy(delivery!, secret!)).toBe(true);
    receiver.answer = () => new Response(null, { status: 403 });
    expect((await command<object>(node.api, id, 'test')).body).toMatchObject({
      delivered: false,
      status: 403,
      error: { code: 'status' },
    });
    await node.api.request(`/api/webhooks/${id}`, { method: 'DELETE' });
  });

  test('signs with both secrets while one is replaced', async () => {
    using receiver = new WebhookReceiver();
    const given = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const { id, secret } = await create(node.api, { url: receiver.url, types: ['newBlock'], secret: given });
    expect(secret).toBeNull();
    const replaced = await command(node.api, id, 'secret', { overlap: 3600 });
    await command(node.api, id, 'test');
    const overlapping = receiver.deliveries.at(-1)!;
    expect([given, replaced.body.secret!].map((each) => isSignedBy(overlapping, each))).toEqual([true, true]);
    const last = await command(node.api, id, 'secret', { overlap: 0 });
    await command(node.api, id, 'test');
    const alone = receiver.deliveries.at(-1)!;
    expect([replaced, last].map(({ body }) => isSignedBy(alone, body.secret!))).toEqual([false, true]);
    expect(node.stderr + JSON.stringify(await hookOf(node, id))).not.toContain('whsec_');
    await node.api.request(`/api/webhooks/${id}`, { method: 'DELETE' });
  });

  test('delivers a reorg in the order of the other ways', async () => {
    using receiver = new WebhookReceiver();
    const types = ['newBlock', 'blockDisconnected', 'reorg'];
    const { cursor, id } = await create(node.api, { url: receiver.url, types });
    const [stale] = await mine(node, 2);
    await node.api.rpc('invalidateblock', [stale]);
    await node.api.rpc('generatetodescriptor', [3, 'raw(51)']);
    const expected = await node.until('the events', async () => {
      const page = await node.api.json<{ items: WsMessage[] }>(`/api/events?types=${types}&after=${cursor}`);
      return heights(page.items.filter(({ type }) => type === 'newBlock')).length >= 5 && page.items;
    });
    await receiver.until('the same events', () => receiver.messages.length >= expected.length);
    expect(receiver.messages as unknown[]).toEqual(expected);
    expect(expected.filter(({ type }) => type === 'blockDisconnected')).toHaveLength(2);
    await node.api.request(`/api/webhooks/${id}`, { method: 'DELETE' });
  });

  test('needs its scope and the scopes of its events, and ends with its key', async () => {
    using receiver = new WebhookReceiver();
    const reader = await newKey(node, ['read']);
    expect((await post<ErrorBody>(reader.api, '/api/webhooks', { url: receiver.url })).body.error).toMatchObject({
      code: 'insufficient_scope',
      details: { required: 'webhooks' },
    });
    const blind = await newKey(node, ['webhooks']);
    expect((await post<ErrorBody>(blind.api, '/api/webhooks', { url: receiver.url })).status).toBe(403);
    const key = await newKey(node, ['read', 'webhooks']);
    const wallets = { url: receiver.url, types: ['walletTransaction'] };
    expect((await post<ErrorBody>(key.api, '/api/webhooks', wallets)).body.error.details).toMatchObject({
      required: 'wallet.read',
    });
    const { id } = await create(key.api, { url: receiver.url, types: ['newBlock'] });
    // The hooks of other keys do not exist for a key.
    expect((await node.api.request(`/api/webhooks/${id}`)).status).toBe(404);
    await mine(node, 1);
    await receiver.until('a block', () => receiver.messages.length === 1);
    const store = new AuthStore(join(node.networkDir, 'auth.db'));
    store.revokeKey(key.id, Math.floor(Date.now() / 1000));
    store.close();
    await node.output('stderr', /webhooks of a key that is gone were removed/, 20_000);
    const { deliveries } = receiver;
    const before = deliveries.length;
    const other = await create(node.api, { url: receiver.url, types: ['newBlock'] });
    await mine(node, 1);
    await receiver.until('a block of the other hook', () => deliveries.length > before);
    expect(deliveries.slice(before).map(({ webhook }) => webhook)).toEqual([other.id]);
    await node.api.request(`/api/webhooks/${other.id}`, { method: 'DELETE' });
  });

  test('with a slow or hostile receiver delays no other', async () => {
    using fast = new WebhookReceiver();
    const never = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
    const endless = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        data: (socket) => void socket.write(`HTTP/1.1 500 no\r\nx: ${'x'.repeat(100_000)}`),
        drain: (socket) => void socket.write('x'.repeat(100_000)),
      },
    });
    const closing = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: { open: (socket) => void socket.end(), data() {} },
    });
    const slow = await Promise.all(
      [never, endless, closing].map(({ port }) =>
        create(node.api, { url: `http://127.0.0.1:${port}/`, types: ['newBlock'] }),
      ),
    );
    const { id } = await create(node.api, { url: fast.url, types: ['newBlock'] });
    await mine(node, 1);
    await fast.until('a block', () => fast.messages.length === 1, 5000);
    const codes = await node.until('their errors', async () => {
      const states = await Promise.all(slow.map((each) => hookOf(node, each.id)));
      return states.every(({ lastError }) => lastError !== null) && states.map(({ lastError }) => lastError!.code);
    });
    expect(codes).toEqual(['timeout', 'bad_reply', 'bad_reply']);
    const metrics = await node.api.request('/metrics');
    expect(/obverse_webhooks\{status="failing"\} (\d+)/.exec(metrics.text)?.[1]).toBe('3');
    expect(/obverse_webhook_attempts_total\{result="timeout"\} (\d+)/.exec(metrics.text)?.[1]).toMatch(/^[1-9]/);
    for (const each of [...slow, { id }]) await node.api.request(`/api/webhooks/${each.id}`, { method: 'DELETE' });
    for (const listener of [never, endless, closing]) listener.stop(true);
  });
});
