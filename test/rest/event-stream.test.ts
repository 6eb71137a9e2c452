import { describe, expect, test } from 'bun:test';
import { issueKey } from '../../src/auth/issue-key.ts';
import type { MempoolChange } from '../../src/mempool/changes.ts';
import { restRoutes } from '../../src/rest/rest-routes.ts';
import { BEARER, startTestApi, type TestApi } from '../lib/api-fixture.ts';
import type { ApiOverrides } from '../lib/default-options.ts';

const start = (overrides: ApiOverrides = {}) =>
  startTestApi({ overrides, plugins: [(context) => restRoutes(context)] });

interface Message {
  readonly id: string | null;
  readonly event: string | null;
  readonly data: { type: string; data: { seq: number; cursor: string } & Record<string, unknown> } | null;
}

/** A client of a stream that reads one message at a time, as the WHATWG describes it. */
class StreamClient implements AsyncDisposable {
  readonly response: Response;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  readonly #abort: AbortController;
  #text = '';

  constructor(response: Response, abort: AbortController) {
    this.response = response;
    this.#reader = response.body!.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    this.#abort = abort;
  }

  static async open(it: TestApi, query = '', headers: Record<string, string> = {}): Promise<StreamClient> {
    const abort = new AbortController();
    const response = await it.get(`/api/stream?${query}`, { headers: { ...BEARER, ...headers }, signal: abort.signal });
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    return new StreamClient(response, abort);
  }

  /** Returns the next message, with or without data; null at the end of the stream. */
  async message(): Promise<Message | null> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end >= 0) {
        const lines = this.#text.slice(0, end).split('\n');
        this.#text = this.#text.slice(end + 2);
        const field = (name: string) =>
          lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? null;
        const data = field('data');
        return { id: field('id'), event: field('event'), data: data === null ? null : JSON.parse(data) };
      }
      const { done, value } = await this.#reader.read();
      if (done) return null;
      this.#text += this.#decoder.decode(value, { stream: true });
    }
  }

  /** Returns the next message that has data. */
  async event(): Promise<Message> {
    for (;;) {
      const message = await this.message();
      if (message === null) throw new Error('the stream has ended');
      if (message.data !== null) return message;
    }
  }

  async events(count: number): Promise<Message[]> {
    const found: Message[] = [];
    while (found.length < count) found.push(await this.event());
    return found;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    return this.#reader.cancel().catch(() => undefined);
  }
}

const update = (seq: number): MempoolChange => ({ kind: 'update', seq, data: `{"seq":${seq}}`, totals: {} as never });

async function pageItems(it: TestApi, query: string): Promise<Message['data'][]> {
  const response = await it.get(`/api/events?${query}`, { headers: BEARER });
  return ((await response.json()) as { items: Message['data'][] }).items;
}

describe('GET /api/stream', () => {
  test('sends the events behind a position, then each new event, as GET /api/events returns them', async () => {
    await using it = start();
    it.node.mine(3);
    await using stream = await StreamClient.open(it, 'after=0');
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream');
    expect(stream.response.headers.get('cache-control')).toBe('no-store');
    const stored = await stream.events((await pageItems(it, 'after=0')).length);
    it.node.mine();
    const mined = await stream.event();
    const items = await pageItems(it, 'after=0');
    expect([...stored, mined].map(({ data }) => data)).toEqual(items);
    for (const { id, event, data } of [...stored, mined]) expect([id, event]).toEqual([data!.data.cursor, data!.type]);
  });

  test('Last-Event-ID continues directly behind each event, and outranks the parameter', async () => {
    await using it = start();
    it.node.mine(4);
    const items = await pageItems(it, 'after=0');
    for (const [at, item] of items.slice(0, -1).entries()) {
      await using stream = await StreamClient.open(it, 'after=0', { 'last-event-id': item!.data.cursor });
      expect((await stream.event()).data).toEqual(items[at + 1]!);
    }
  });

  test('without a position it begins at the present end of the log', async () => {
    await using it = start();
    it.node.mine(3);
    await using stream = await StreamClient.open(it);
    const { id } = (await stream.message())!;
    expect(await pageItems(it, `after=${id}`)).toEqual([]);
    it.node.mine();
    expect((await stream.event()).data!.data.seq).toBe((await pageItems(it, `after=${id}`))[0]!.data.seq);
  });

  test('events of other types move the position of the client without an event', async () => {
    // The runtime counts idle time in steps of four seconds, and would close the stream early with less.
    await using it = start({ http: { idleTimeout: 5 } as never });
    await using stream = await StreamClient.open(it, 'types=reorg');
    const { id: first } = (await stream.message())!;
    it.node.mine(2);
    for (;;) {
      const { id, data } = (await stream.message())!;
      expect(data).toBeNull();
      if (id === first) continue;
      expect(await pageItems(it, `after=${id}`)).toEqual([]);
      break;
    }
    it.node.emit('reorg', { depth: 1 });
    expect((await stream.event()).event).toBe('reorg');
  });

  test('reports what ended with the process as a gap before the events', async () => {
    await using it = startTestApi({ plugins: [(context) => restRoutes(context)], restarted: true });
    await using stream = await StreamClient.open(it, 'after=500');
    const gap = await stream.event();
    expect(gap).toMatchObject({ event: 'gap', data: { type: 'gap', data: { toSeq: 10_000 } } });
    expect(gap.id).toBe(gap.data!.data.cursor);
    expect((await stream.event()).data!.data.seq).toBe(10_001);
  });

  test('events that were evicted while the client read slowly are a gap', async () => {
    await using it = start({ limits: { eventLog: { entries: 50, bytes: 2 ** 30, ageMs: 3_600_000 } } as never });
    it.node.mine();
    await using stream = await StreamClient.open(it, 'types=mempoolUpdate&after=1');
    const first = 10;
    const data = `{"pad":"${'x'.repeat(20_000)}"}`;
    const updates = Array.from({ length: 2000 }, (_, i) => ({ ...update(first + i), data }) as MempoolChange);
    for (let at = 0; at < updates.length; at += 40) {
      it.api.context.events.append(updates.slice(at, at + 40));
      await new Promise((resolve) => setImmediate(resolve));
    }
    let event = await stream.event();
    while (event.event !== 'gap') event = await stream.event();
    // Events may be evicted again before the client reads on.
    for (; event.event === 'gap'; event = await stream.event())
      expect(event.data!.data).toMatchObject({ scope: 'mempool' });
    expect(event.event).toBe('mempoolUpdate');
  });

  test('rejects unknown positions and types, a missing key, and more streams than a key may have', async () => {
    await using it = start({ limits: { eventWaitsPerKey: 1 } as never });
    for (const [query, headers, code] of [
      ['after=x', {}, 'invalid_cursor'],
      ['', { 'last-event-id': 'x' }, 'invalid_cursor'],
      ['types=weather', {}, 'invalid_parameter'],
    ] as const) {
      const response = await it.get(`/api/stream?${query}`, { headers: { ...BEARER, ...headers } });
      expect([response.status, await response.json()]).toMatchObject([400, { error: { code } }]);
    }
    expect((await it.get('/api/stream')).status).toBe(401);
    const stream = await StreamClient.open(it);
    const second = await it.get('/api/stream', { headers: BEARER });
    expect([second.status, await second.json()]).toMatchObject([429, { error: { code: 'too_many_connections' } }]);
    await stream[Symbol.asyncDispose]();
    // The server learns of the disconnect soon after.
    for (;;) {
      const again = await it.get('/api/stream', { headers: BEARER });
      await again.body?.cancel();
      if (again.status === 200) break;
    }
  });

  test('ends with an event once its key is revoked', async () => {
    await using it = start();
    const { key, record } = issueKey(it.api.auth.store!, { label: '', scopes: ['read'] }, 1);
    it.api.auth.keysChanged();
    await using stream = await StreamClient.open(it, '', { authorization: `Bearer ${key}` });
    await stream.message();
    it.api.auth.keys.revoke(record.id, { force: false });
    it.api.auth.keysChanged();
    expect(await stream.event()).toMatchObject({ event: 'closed', data: { data: { code: 'invalid_credentials' } } });
    expect(await stream.message()).toBeNull();
  });

  test('outlives an idle timeout that is shorter than a step of the runtime', async () => {
    await using it = start({ http: { idleTimeout: 1 } });
    await using stream = await StreamClient.open(it);
    // A step has four seconds, and one heartbeat half a second.
    for (let heartbeats = 0; heartbeats < 11; heartbeats++) expect(await stream.message()).not.toBeNull();
  }, 15_000);

  test('ends when the server stops', async () => {
    const it = start();
    await using stream = await StreamClient.open(it);
    await stream.message();
    await it[Symbol.asyncDispose]();
    let last: Message | null;
    do last = await stream.message();
    while (last !== null);
    expect(last).toBeNull();
  });
});
