import { describe, expect, test } from 'bun:test';
import type { MempoolChange } from '../../src/mempool/changes.ts';
import { restRoutes } from '../../src/rest/rest-routes.ts';
import { BEARER, rawRequest, STATIC_KEY, startTestApi, type TestApi } from '../lib/api-fixture.ts';
import type { ApiOverrides } from '../lib/default-options.ts';

interface Page {
  items: { type: string; data: { seq: number; cursor: string } }[];
  lastSeq: number;
  lastCursor: string;
  gap: { scope: string; fromSeq: number; toSeq: number } | null;
}

const start = (overrides: ApiOverrides = {}) =>
  startTestApi({ overrides, plugins: [(context) => restRoutes(context)] });

async function page(it: TestApi, query = ''): Promise<Page> {
  const response = await it.get(`/api/events?${query}`, { headers: BEARER });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as Page;
}

function update(seq: number): MempoolChange {
  return { kind: 'update', seq, data: `{"seq":${seq}}`, totals: {} as never };
}

const seqs = ({ items }: Page) => items.map(({ data }) => data.seq);

describe('GET /api/events', () => {
  test('returns the events behind a number, as the WebSocket does, and the position to resume from', async () => {
    await using it = start();
    it.node.mine(4);
    it.api.context.events.append([update(6)]);
    it.node.emit('reorg', { depth: 1 });
    const all = await page(it, 'after=0');
    expect(all.items[0]).toMatchObject({ type: 'newBlock', data: { seq: 1, height: 0 } });
    expect([seqs(all), all.lastSeq, all.gap]).toEqual([[1, 2, 3, 4, 5, 6], 6, null]);
    const first = await page(it, 'after=1&limit=2');
    expect([seqs(first), first.lastSeq]).toEqual([[2, 3], 3]);
    expect(seqs(await page(it, `after=${first.lastSeq}&limit=2`))).toEqual([4, 5]);
    const updates = await page(it, 'after=1&types=mempoolUpdate,transactionRemoved');
    expect([seqs(updates), updates.lastSeq]).toEqual([[6], 6]);
    const none = await page(it, 'after=0&types=blockDisconnected');
    expect([seqs(none), none.lastSeq]).toEqual([[], 6]);
    // Without a number there is nothing older than now.
    expect(await page(it)).toEqual({ items: [], lastSeq: 6, lastCursor: all.lastCursor, gap: null });
  });

  test('is not cached, and needs a key', async () => {
    await using it = start();
    const response = await it.get('/api/events', { headers: BEARER });
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect((await it.get('/api/events')).status).toBe(401);
  });

  test('refuses invalid parameters', async () => {
    await using it = start();
    for (const [query, parameter] of [
      ['after=1.5', 'after'],
      ['after=-1', 'after'],
      ['after=99999', 'after'],
      ['limit=0', 'limit'],
      ['limit=5001', 'limit'],
      ['wait=61', 'wait'],
      ['types=newBlock,weather', 'types'],
    ]) {
      const response = await it.get(`/api/events?${query}`, { headers: BEARER });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { code: 'invalid_parameter', details: { parameter } } });
    }
  });

  test('a page behind a cursor begins right behind that event', async () => {
    await using it = start();
    it.node.mine(4);
    it.api.context.events.append([update(6)]);
    it.node.emit('reorg', { depth: 1 });
    const all = await page(it, 'after=0');
    for (const [at, { data }] of all.items.entries())
      expect(seqs(await page(it, `after=${data.cursor}`))).toEqual(seqs(all).slice(at + 1));
    const got: Page['items'] = [];
    for (let after = '0', turn = 0; turn < 6; turn++) {
      const next = await page(it, `after=${after}&limit=1`);
      expect(next.items).toHaveLength(1);
      got.push(...next.items);
      after = next.lastCursor;
    }
    expect(got).toEqual(all.items);
  });

  test('a cursor that is not of this log is rejected with its reason', async () => {
    await using it = start();
    await using other = start();
    other.node.mine();
    const { lastCursor } = await page(other, 'after=0');
    for (const [after, reason] of [
      [lastCursor, 'other-log'],
      [lastCursor.slice(1), 'malformed'],
      ['x', 'malformed'],
    ]) {
      const response = await it.get(`/api/events?after=${after}`, { headers: BEARER });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        error: { code: 'invalid_cursor', details: { parameter: 'after', reason } },
      });
    }
  });

  test('after a restart what has ended with the process is a gap, and the page goes on behind it', async () => {
    await using it = startTestApi({ plugins: [(context) => restRoutes(context)], restarted: true });
    const { toSeq } = (await page(it, 'after=500')).gap!;
    expect(toSeq).toBe(10_000);
    // Numbers go on with the first block of this process, which was there before the API.
    const first = await page(it, 'after=500&limit=1');
    expect([seqs(first), first.lastSeq]).toEqual([[10_001], 10_001]);
    expect((await page(it, `after=${first.lastCursor}`)).gap).toBeNull();
    expect((await page(it, `after=${first.lastSeq}`)).gap).toBeNull();
  });

  test('reports a gap where events have been dropped', async () => {
    await using it = start();
    it.node.mine(20);
    it.node.prune(5);
    const { gap, items, lastSeq } = await page(it, 'after=3&wait=60');
    expect(gap).toMatchObject({ scope: 'all', fromSeq: 4, toSeq: 16 });
    expect([items.length, lastSeq]).toEqual([5, 21]);
  });

  test('long pages end where the answer becomes large', async () => {
    await using it = start();
    it.node.mine(100, 'n'.repeat(100_000));
    const got: number[] = [];
    let pages = 0;
    for (let at = 1; at < 101; pages++) {
      const next = await page(it, `after=${at}`);
      got.push(...seqs(next));
      at = next.lastSeq;
    }
    expect(got).toEqual(Array.from({ length: 100 }, (_, i) => i + 2));
    expect(pages).toBeGreaterThan(2);
  });
});

describe('waiting', () => {
  test('a wait ends with the first requested event', async () => {
    await using it = start();
    const waiting = page(it, 'wait=60&types=mempoolUpdate');
    await waitUntil(it, 1);
    it.node.mine();
    it.api.context.events.append([update(3)]);
    expect(await waiting).toMatchObject({ items: [{ type: 'mempoolUpdate', data: { seq: 3 } }], lastSeq: 3 });
  });

  test('a wait ends empty after its time, and the client can resume from there', async () => {
    await using it = start();
    const waiting = page(it, 'after=1&wait=1&types=reorg');
    await waitUntil(it, 1);
    it.node.mine();
    const { lastCursor, ...rest } = await waiting;
    expect(rest).toEqual({ items: [], lastSeq: 2, gap: null });
    expect(await page(it, `after=${lastCursor}`)).toMatchObject({ items: [], lastCursor });
  });

  test('outlasts the time a connection may idle', async () => {
    await using it = start({ http: { idleTimeout: 1 } });
    const before = performance.now();
    expect(await page(it, 'wait=6')).toMatchObject({ items: [] });
    expect(performance.now() - before).toBeGreaterThan(5900);
  }, 180_000);

  test('a wait ends when the node stops', async () => {
    await using it = start();
    const waiting = page(it, 'wait=60');
    await waitUntil(it, 1);
    const before = performance.now();
    await it.api.stop('test');
    expect(await waiting).toMatchObject({ items: [] });
    expect(performance.now() - before).toBeLessThan(2000);
  });

  test('waits are limited by key and in total, and a disconnected client is not counted', async () => {
    await using it = start({ limits: { eventWaitsPerKey: 1 } });
    const leaving = new AbortController();
    const left = it.get('/api/events?wait=60', { headers: BEARER, signal: leaving.signal }).catch(() => null);
    await waitUntil(it, 1);
    const refused = await it.get('/api/events?wait=60', { headers: BEARER });
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ error: { code: 'too_many_connections' } });
    leaving.abort();
    await left;
    await waitUntil(it, 0);
    const again = page(it, 'wait=60');
    await waitUntil(it, 1);
    it.node.mine();
    expect(seqs(await again)).toEqual([2]);

    await using full = start({ limits: { eventWaitsTotal: 0 } });
    expect((await full.get('/api/events?wait=1', { headers: BEARER })).status).toBe(503);
    const raw = `GET /api/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${STATIC_KEY}\r\nConnection: close\r\n\r\n`;
    expect(await rawRequest(full.api.port, raw)).toContain('200 OK');
  });
});

/** Requests that wait listen to the log; the hub does so as well. */
async function waitUntil(it: TestApi, count: number): Promise<void> {
  while (it.api.context.events.listeners !== count + 1) await Bun.sleep(2);
}
