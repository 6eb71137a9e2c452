import { describe, expect, test } from 'bun:test';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { FrontConnection } from '../lib/front-connection.ts';
import { post } from '../lib/mempool-node.ts';
import type { ErrorBody, WsMessage } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess, startNode, TEST_KEY, tempDir } from '../lib/node-process.ts';
import { MINING_ADDRESS } from '../lib/peer-node.ts';
import { certificateText, keyText, tlsFiles } from '../lib/self-signed.ts';
import { isSignedBy, WebhookReceiver } from '../lib/webhook-receiver.ts';

cleanUpAfterTests({ each: true });

const ARGS = ['--webhooks.allowedNetworks=127.0.0.0/8', '--webhooks.maxPause=1'];
const KILLS = 4;

interface Hook {
  readonly id: string;
  readonly secret: string;
  readonly status: string;
  readonly cursor: string;
  readonly failingSince: number | null;
  readonly lastError: { readonly code: string } | null;
}

const hookOf = (node: NodeProcess, id: string): Promise<Hook> => node.api.json<Hook>(`/api/webhooks/${id}`);

async function create(node: NodeProcess, request: object): Promise<Hook> {
  const reply = await post<Hook>(node.api, '/api/webhooks', request);
  if (reply.status !== 200) throw new Error(reply.text);
  return reply.body;
}

const mine = (node: NodeProcess, count: number, to = MINING_ADDRESS): Promise<string[]> =>
  node.api.rpc<string[]>('generatetoaddress', [count, to]);

const heightOf = ({ data }: { data: object }): number => (data as { height: number }).height;

describe('events are delivered at least once and in order', () => {
  test('when the node is killed while it delivers', async () => {
    using receiver = new WebhookReceiver();
    let node = await startNode({ args: ARGS });
    const { datadir } = node;
    const { id, secret } = await create(node, { url: receiver.url, types: ['newBlock'], maxEvents: 2 });
    receiver.answer = async () => {
      await Bun.sleep(5);
      return new Response('ok');
    };
    for (let kill = 0; kill < KILLS; kill++) {
      const before = receiver.messages.length;
      await mine(node, 25);
      await receiver.until('some deliveries', () => receiver.messages.length >= before + 5);
      await node.stop('SIGKILL');
      node = await startNode({ datadir, args: ARGS });
    }
    await receiver.until('all blocks', () => receiver.distinct('newBlock').length === KILLS * 25);
    const blocks = receiver.distinct('newBlock');
    expect(blocks.map(heightOf)).toEqual(blocks.map((_, i) => i + 1));
    // A kill repeats one delivery at most.
    const repeated = receiver.messages.filter(({ type }) => type === 'newBlock').length - blocks.length;
    expect(repeated).toBeLessThanOrEqual(KILLS * 2);
    expect(receiver.deliveries.every((delivery) => isSignedBy(delivery, secret))).toBe(true);
    // The same event has the same cursor before and after a kill.
    const { items } = await node.api.json<{ items: WsMessage[] }>('/api/events?after=0&types=newBlock&limit=1000');
    const cursors = new Map(items.map(({ data }) => [data.height, data.cursor]));
    for (const block of blocks) expect(cursors.get(heightOf(block))).toBe(block.data.cursor);
    expect((await hookOf(node, id)).status).toBe('active');
    expect(statSync(join(node.networkDir, 'webhooks.db')).mode & 0o777).toBe(0o600);
  });

  test('when the node stops and starts again, without a repeated delivery', async () => {
    using receiver = new WebhookReceiver();
    let node = await startNode({ args: ARGS });
    await create(node, { url: receiver.url, types: ['newBlock'] });
    await mine(node, 3);
    await receiver.until('the blocks', () => receiver.distinct('newBlock').length === 3);
    await node.stop();
    node = await startNode({ datadir: node.datadir, args: ARGS });
    await mine(node, 2);
    await receiver.until('the blocks', () => receiver.distinct('newBlock').length === 5);
    expect(receiver.messages.filter(({ type }) => type === 'newBlock').map(heightOf)).toEqual([1, 2, 3, 4, 5]);
    // Events of the mempool ended with the process, but this webhook wants none.
    expect(receiver.messages.filter(({ type }) => type === 'gap')).toEqual([]);
  });

  test('when the chain data is replaced: a gap is delivered in place of the events', async () => {
    using receiver = new WebhookReceiver();
    let node = await startNode({ args: ARGS });
    await create(node, { url: receiver.url, types: ['newBlock'] });
    await mine(node, 2);
    await receiver.until('the blocks', () => receiver.messages.length === 2);
    await node.stop();
    const { rmSync } = await import('node:fs');
    rmSync(join(node.networkDir, 'chain'), { recursive: true });
    node = await startNode({ datadir: node.datadir, args: ARGS });
    await receiver.until('a gap', () => receiver.messages.some(({ type }) => type === 'gap'));
    const { cursor } = receiver.accepted.at(-1)!;
    expect(receiver.accepted.at(-1)).toMatchObject({ events: [{ type: 'gap', data: { scope: 'all', cursor } }] });
    expect(receiver.accepted.at(-1)!.headers['webhook-id']).toBe(`gap-${cursor}`);
    await mine(node, 1);
    await receiver.until('a block', () => receiver.messages.length === 4);
    expect(heightOf(receiver.messages.at(-1)!)).toBe(1);
  });
});

describe('a receiver that only fails', () => {
  test('is disabled after webhooks.disableAfter, with a message, and continues where it was', async () => {
    using receiver = new WebhookReceiver();
    const node = await startNode({ args: [...ARGS, '--webhooks.disableAfter=1'] });
    const { id } = await create(node, { url: receiver.url, types: ['newBlock'], label: 'shop' });
    const socket = await node.api.socket();
    socket.send({ type: 'subscribe', id: 1, data: { events: ['webhookDisabled'] } });
    await socket.until('ack', ({ type }) => type === 'ack');
    receiver.answer = () => new Response(null, { status: 500 });
    await mine(node, 1);
    const { data } = await socket.until('webhookDisabled', ({ type }) => type === 'webhookDisabled');
    expect(data).toMatchObject({ webhook: id, label: 'shop', lastError: { code: 'status', status: 500 } });
    socket.close();
    await node.output('stderr', /webhook disabled/);
    expect(await hookOf(node, id)).toMatchObject({ status: 'disabled', failingSince: data.failingSince as number });
    const { text } = await node.api.request('/metrics');
    expect(text).toContain('obverse_webhooks_disabled_total 1');
    expect(text).toContain('obverse_webhooks{status="disabled"} 1');
    const { length } = receiver.deliveries;
    receiver.answer = () => new Response('ok');
    await mine(node, 1);
    // A disabled webhook stays disabled over a restart.
    await node.stop();
    const again = await startNode({ datadir: node.datadir, args: ARGS });
    expect((await hookOf(again, id)).status).toBe('disabled');
    expect(receiver.deliveries).toHaveLength(length);
    await post(again.api, `/api/webhooks/${id}/resume`, {});
    await receiver.until('both blocks', () => receiver.distinct('newBlock').length === 2);
    expect(await hookOf(again, id)).toMatchObject({ status: 'active', failingSince: null });
  });
});

describe('targets', () => {
  test('that are not public are refused without webhooks.allowedNetworks', async () => {
    using receiver = new WebhookReceiver();
    const node = await startNode();
    for (const url of [
      receiver.url,
      `https://127.1:${receiver.port}/`,
      `https://2130706433:${receiver.port}/`,
      `https://[::1]:${receiver.port}/`,
      `https://[::ffff:127.0.0.1]:${receiver.port}/`,
      'https://10.0.0.1/',
      'https://169.254.169.254/latest/meta-data/',
      'https://[64:ff9b::10.0.0.1]/',
      'http://8.8.8.8/',
      'ftp://shop.example/',
      'https://user:password@shop.example/',
      'https://shop.example/#x',
      'nothing',
    ]) {
      const { status, body } = await post<ErrorBody>(node.api, '/api/webhooks', { url });
      expect({ url, status, ...body.error }).toMatchObject({ url, status: 400, details: { parameter: 'url' } });
    }
    // The addresses of a name are checked when it is connected to.
    for (const protocol of ['http', 'https']) {
      const { id } = await create(node, { url: `${protocol}://localhost:${receiver.port}/`, types: ['newBlock'] });
      const { body } = await post<object>(node.api, `/api/webhooks/${id}/test`, {});
      expect(body).toMatchObject({ delivered: false, error: { code: 'forbidden_address' } });
    }
    await mine(node, 1);
    await node.until('the errors', async () => {
      const { items } = await node.api.json<{ items: Hook[] }>('/api/webhooks');
      return items.every(({ lastError }) => lastError?.code === 'forbidden_address');
    });
    expect(receiver.deliveries).toHaveLength(0);
  });

  test('with a certificate of webhooks.authorities receive events over TLS', async () => {
    using receiver = new WebhookReceiver({ tls: { cert: certificateText, key: keyText } });
    const { cert } = tlsFiles(tempDir());
    const node = await startNode({ args: [...ARGS, `--webhooks.authorities=${cert}`] });
    await create(node, { url: `https://localhost:${receiver.port}/`, types: ['newBlock'] });
    await mine(node, 1);
    await receiver.until('a block', () => receiver.messages.length === 1);
  });

  test('are limited for each key', async () => {
    using receiver = new WebhookReceiver();
    const node = await startNode({ args: [...ARGS, '--webhooks.perKey=2'] });
    const request = { url: receiver.url };
    const replies = await Promise.all([1, 2, 3].map(() => post<Hook>(node.api, '/api/webhooks', request)));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 200, 409]);
    const { items } = await node.api.json<{ items: Hook[] }>('/api/webhooks');
    expect(items).toHaveLength(2);
    await node.api.request(`/api/webhooks/${items[0]!.id}`, { method: 'DELETE' });
    await create(node, request);
  });
});

test('with two fronts each call works on both, and each event is delivered once', async () => {
  using receiver = new WebhookReceiver();
  const node = await startNode({ args: [...ARGS, '--workers.front=2', '--webhooks.disableAfter=1'] });
  const [one, other] = (await FrontConnection.toEach(node.api.url, 2)) as [FrontConnection, FrontConnection];
  const on = async (front: FrontConnection, method: string, path: string, body?: object) => {
    const reply = await front.request(method, path, { key: TEST_KEY, ...(body && { body: JSON.stringify(body) }) });
    expect([path, reply.status]).toEqual([path, 200]);
    return JSON.parse(reply.body) as Hook & { items: Hook[]; delivered: boolean };
  };
  const types = ['newBlock'];
  const first = await on(one, 'POST', '/api/webhooks', { url: receiver.url, types });
  const second = await on(other, 'POST', '/api/webhooks', { url: receiver.url, types });
  const ids = [first.id, second.id].toSorted();
  for (const front of [one, other]) {
    const { items } = await on(front, 'GET', '/api/webhooks');
    expect(items.map(({ id }) => id).toSorted()).toEqual(ids);
    for (const id of ids) {
      expect((await on(front, 'GET', `/api/webhooks/${id}`)).id).toBe(id);
      expect((await on(front, 'POST', `/api/webhooks/${id}/test`)).delivered).toBe(true);
      expect((await on(front, 'POST', `/api/webhooks/${id}/pause`)).status).toBe('paused');
      expect((await on(front, 'POST', `/api/webhooks/${id}/resume`)).status).toBe('active');
      expect((await on(front, 'POST', `/api/webhooks/${id}/secret`, { overlap: 0 })).secret).toStartWith('whsec_');
    }
  }
  await mine(node, 20);
  const blocks = () => receiver.messages.filter(({ type }) => type === 'newBlock');
  await receiver.until('20 blocks each', () => blocks().length >= 40);
  for (const id of ids) {
    const own = receiver.accepted.filter(({ webhook, events }) => webhook === id && events[0]!.type === 'newBlock');
    expect(own.flatMap(({ events }) => events).map(heightOf)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
  }
  await on(other, 'POST', `/api/webhooks/${first.id}/replay`, { after: first.cursor });
  await receiver.until('20 blocks again', () => blocks().length >= 60);
  // The message about a disabled webhook reaches the connections of both fronts.
  const sockets = await Promise.all(Array.from({ length: 8 }, () => node.api.socket()));
  for (const socket of sockets) {
    socket.send({ type: 'subscribe', id: 1, data: { events: ['webhookDisabled'] } });
    await socket.until('ack', ({ type }) => type === 'ack');
  }
  receiver.answer = () => new Response(null, { status: 500 });
  await mine(node, 1);
  for (const socket of sockets) {
    await socket.until('webhookDisabled', ({ type }) => type === 'webhookDisabled');
    socket.close();
  }
  expect((await on(one, 'DELETE', `/api/webhooks/${second.id}`)) as object).toEqual({ deleted: 1 });
  expect((await on(other, 'GET', '/api/webhooks')).items.map(({ id }) => id)).toEqual([first.id]);
  for (const front of [one, other]) front.close();
});
