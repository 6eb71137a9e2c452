import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { SQL } from 'bun';
import { regtest } from '../../src/params/regtest.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { addressOf } from '../../src/script/address.ts';
import type { RegtestChain } from '../lib/chain-builder.ts';
import { directoryWith } from '../lib/chain-directory.ts';
import { broadcast, hexOf, idOf, mine, post, submit } from '../lib/mempool-node.ts';
import type { ApiClient, ErrorBody, EventSocket, Readiness, Tip, WsMessage } from '../lib/node-client.ts';
import { cleanUpAfterTests, freePort, type NodeProcess, runProgram, startNode, TEST_KEY } from '../lib/node-process.ts';
import { OpenApi } from '../lib/open-api.ts';
import { PostgresServer } from '../lib/postgres-server.ts';
import { extend, recentChain, tipHash } from '../lib/sample-chains.ts';
import { type ServeOptions, ServeProcess, startServe } from '../lib/serve-process.ts';
import { sinkAt } from '../lib/sink-rows.ts';
import { lockOf, scriptOfDestination, spend, sweep, type TestCoin } from '../lib/tx-builder.ts';

cleanUpAfterTests();

interface EventPage {
  readonly items: readonly WsMessage[];
  readonly lastSeq: number;
  readonly lastCursor: string;
  readonly gap: object | null;
}

const TYPES = 'newBlock,blockDisconnected,reorg';

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await PostgresServer.start();
});
afterAll(() => postgres[Symbol.asyncDispose]());

/** A database of its own. */
function database(name: string): { url: string; sql: SQL } {
  const url = postgres.createDatabase(name);
  return { url, sql: new SQL(url, { max: 1 }) };
}

/** A consumer that stores the cursor of what it has read, and the height that it was shown last. */
class Consumer {
  cursor = '0';
  height = 0;
  readonly seqs: number[] = [];
  readonly chain: string[] = [];

  /** Reads pages at a server until it has the event with a number. */
  async readUpTo(seq: number, server: ServeProcess): Promise<void> {
    while ((this.seqs.at(-1) ?? 0) < seq) {
      const path = `/api/events?after=${this.cursor}&types=${TYPES}&limit=7&wait=5`;
      const { status, body, headers, text } = await server.api.request<EventPage>(path, {
        headers: { 'x-chain-height': String(this.height) },
      });
      if (status !== 200) throw new Error(`${status} ${text}`);
      expect(body.gap).toBeNull();
      const height = Number(headers.get('x-chain-height'));
      expect(height).toBeGreaterThanOrEqual(this.height);
      this.height = height;
      for (const { type, data } of body.items) this.#book(type, data);
      this.cursor = body.lastCursor;
    }
  }

  #book(type: string, data: WsMessage['data']): void {
    this.seqs.push(data.seq as number);
    if (type === 'newBlock') expect(this.chain.push(data.hash as string)).toBe((data.height as number) + 1);
    if (type === 'blockDisconnected') expect(this.chain.pop()).toBe(data.hash as string);
  }
}

/** The number of the newest event of the chain in a database. */
async function newestSeq(sql: SQL): Promise<number> {
  const [row] = await sql`SELECT max(seq) AS seq FROM obverse.events`;
  return Number(row.seq);
}

describe('events at several servers', () => {
  test('each event comes once and in order, over kills of a server, of the leading node and of PostgreSQL', async () => {
    const own = await PostgresServer.start();
    const { url } = own;
    let sql = new SQL(url, { max: 1 });
    const chain = recentChain(108, { payments: 2 });
    const withSink = async () =>
      startNode({ datadir: await directoryWith(chain), env: { OBVERSE_SINK_POSTGRES: url } });
    const leader = await withSink();
    await sinkAt(sql, tipHash(chain));
    const standby = await withSink();
    await standby.output('stderr', /"msg":"another node writes the sink"/);
    const port = await freePort();
    let [a, b] = await Promise.all([startServe({ url, port }), startServe({ url })]);
    const consumer = new Consumer();
    const nodes = [leader, standby];
    const give = async (from: RegtestChain, blocks: number) => {
      for (const block of from.blocks.slice(-blocks)) for (const { api } of nodes) await submit(api, block);
    };
    const readAll = async (of: RegtestChain, server: ServeProcess) => {
      await sinkAt(sql, tipHash(of));
      await consumer.readUpTo(await newestSeq(sql), server);
      expect(consumer.chain.at(-1)).toBe(tipHash(of));
    };
    await readAll(chain, a);

    // The cursor of one server is read on at the other, over blocks and a reorg.
    const winner = chain.fork();
    extend(chain, 2, 1);
    await give(chain, 2);
    await readAll(chain, b);
    extend(winner, 3, 1);
    await give(winner, 3);
    await readAll(winner, a);

    // A server that is killed is replaced by one that knows nothing.
    await a.stop('SIGKILL');
    await mine(leader.api, winner);
    await submit(standby.api, winner.blocks.at(-1)!);
    await readAll(winner, b);
    a = await startServe({ url, port });

    await leader.stop('SIGKILL');
    nodes.shift();
    await mine(standby.api, winner);
    await readAll(winner, a);

    await sql.close();
    await own.kill();
    await b.output('stderr', /"msg":"the database cannot be read"/);
    expect((await b.api.request('/readyz')).status).toBe(503);
    await mine(standby.api, winner);
    await own.run();
    sql = new SQL(url, { max: 1 });
    await readAll(winner, b);
    await b.until('readiness', async () => (await b.api.request('/readyz')).status === 200);

    const all = await sql`SELECT seq FROM obverse.events ORDER BY seq`;
    expect(consumer.seqs).toEqual(all.map(({ seq }: { seq: string }) => Number(seq)));
    expect(consumer.chain.at(-1)).toBe(tipHash(winner));
    await sql.close();
    await own[Symbol.asyncDispose]();
  });
});

describe('two servers of one database', () => {
  let url: string;
  let sql: SQL;
  let chain: RegtestChain;
  let node: NodeProcess;
  let a: ServeProcess;
  let b: ServeProcess;
  beforeAll(async () => {
    ({ url, sql } = database('pair'));
    chain = recentChain(115, { payments: 2 });
    node = await startNode({ datadir: await directoryWith(chain), env: { OBVERSE_SINK_POSTGRES: url } });
    await sinkAt(sql, tipHash(chain));
    const dead = `http://127.0.0.1:${await freePort()}`;
    const options: ServeOptions = {
      url,
      args: [`--serve.nodes=${dead},${node.api.url}`],
      env: { OBVERSE_SERVE_NODE_KEYS: TEST_KEY },
    };
    [a, b] = await Promise.all([startServe(options), startServe(options)]);
  });
  afterAll(async () => {
    await sql.close();
  });

  /** Mines a block, and returns its hash when the database has it. */
  async function mineBlock(): Promise<string> {
    await mine(node.api, chain);
    await sinkAt(sql, tipHash(chain));
    return tipHash(chain);
  }

  let nextCoin = 16;
  /** Returns a coinbase that no other test spends. */
  async function matureCoin(): Promise<TestCoin> {
    const height = nextCoin++;
    while (chain.height - height < 100) await mineBlock();
    return chain.coin(height);
  }

  test('reads are those of the node, and name their tip', async () => {
    const hash = await mineBlock();
    for (const { api } of [a, b]) {
      const { body, headers } = await api.request<Tip>('/api/blocks/tip', {
        headers: { 'x-chain-height': String(chain.height) },
      });
      expect(body).toMatchObject({ hash, height: chain.height });
      expect(headers.get('x-chain-hash')).toBe(hash);
    }
    // A database does not know when a node has received a block.
    const block = { ...(await node.api.json<object>(`/api/block/${hash}`)), receivedAt: null };
    expect(await a.api.json<object>(`/api/block/${hash}`)).toEqual(block);
  });

  test('a client that names a height waits for it, and is never shown an older tip', async () => {
    const next = chain.height + 1;
    const early = b.api.request<Tip>('/api/blocks/tip', { headers: { 'x-chain-height': String(next) } });
    await mineBlock();
    const { status, body } = await early;
    // On a busy machine the block may be later than the server waits.
    if (status === 200) expect(body.height).toBeGreaterThanOrEqual(next);
    else expect(status).toBe(503);

    const far = await a.api.request<ErrorBody>('/api/blocks/tip', { headers: { 'x-chain-height': '99999' } });
    expect([far.status, far.body.error.code]).toEqual([503, 'syncing']);
    expect(far.body.error.details).toEqual({ height: expect.any(Number), wanted: 99_999 });
    expect(Number(far.headers.get('retry-after'))).toBeGreaterThan(0);
    const wrong = await a.api.request<ErrorBody>('/api/blocks/tip', { headers: { 'x-chain-height': 'new' } });
    expect([wrong.status, wrong.body.error.code]).toEqual([400, 'invalid_parameter']);
  });

  test('a cursor of a node is refused by a server, and one of a server by a node', async () => {
    const types = 'types=newBlock&limit=1';
    const ofNode = await node.api.json<EventPage>(`/api/events?after=0&${types}`);
    const ofServer = await a.api.json<EventPage>(`/api/events?after=0&${types}`);
    for (const [{ api }, { lastCursor }] of [
      [a, ofNode],
      [node, ofServer],
    ] as const) {
      const { status, body } = await api.request<ErrorBody>(`/api/events?after=${lastCursor}`);
      expect([status, body.error.code, body.error.details]).toEqual([
        ...[400, 'invalid_cursor'],
        { parameter: 'after', reason: 'other-log' },
      ]);
    }
    expect((await b.api.request(`/api/events?after=${ofServer.lastCursor}`)).status).toBe(200);
  });

  test('server-sent events go on at the other server', async () => {
    const from = await a.api.json<EventPage>('/api/events?types=newBlock');
    const first = await mineBlock();
    const atA = await streamed(a.api, from.lastCursor);
    const { id, hash } = await atA.next();
    expect(hash).toBe(first);
    const atB = await streamed(b.api, id);
    const second = await mineBlock();
    expect((await atB.next()).hash).toBe(second);
    atA.end();
    atB.end();
  });

  test('a WebSocket resumes at the other server, with its watched addresses', async () => {
    const shop = lockOf('p2wpkh', 9);
    const watch = { type: 'watch', data: { addresses: [addressOf(scriptOfDestination(shop), regtest.address)] } };
    const atA = await socketOf(a.api, watch);
    atA.send({ type: 'subscribe', data: { events: ['newBlock', 'confirmation', 'addressTransaction'] } });
    await atA.until('the reply', ({ type, data }) => type === 'ack' && 'events' in data);
    const hash = await mineBlock();
    const seen = await atA.until('the block', ({ type, data }) => type === 'newBlock' && data.hash === hash);
    atA.close();

    const payment = sweep(await matureCoin(), shop);
    await mine(node.api, chain, [payment]);
    await sinkAt(sql, tipHash(chain));
    // A connection has the events of blocks before it subscribes; this block comes from the log alone.
    await b.api.request('/api/blocks/tip', { headers: { 'x-chain-height': String(chain.height) } });
    const atB = await socketOf(b.api, watch);
    atB.send({
      type: 'subscribe',
      data: { events: ['newBlock', 'confirmation', 'addressTransaction'], after: seen.data.cursor },
    });
    const touch = await atB.until('the payment', ({ type }) => type === 'addressTransaction');
    expect(touch.data).toMatchObject({ txid: idOf(payment), phase: 'confirmed' });
    const blocks = atB.of('newBlock').map(({ data }) => data.hash);
    expect(blocks).toEqual(chain.blocks.slice((seen.data.height as number) + 1).map((block) => hashToHex(block.hash)));
    atB.close();
  });

  test('a transaction reaches a node when the first of the list is dead, and its verdict is final', async () => {
    const payment = sweep(await matureCoin(), lockOf('p2wpkh', 3));
    const accepted = await broadcast(a.api, payment);
    expect(accepted).toMatchObject({ txid: idOf(payment), status: 'accepted' });
    expect((await node.api.request(`/api/tx/${idOf(payment)}`)).status).toBe(200);
    // The same transaction again is no error, at any server.
    expect(await broadcast(b.api, payment)).toMatchObject({ status: 'already_in_mempool' });

    const double = spend(await matureCoin(), [{ to: lockOf('p2wpkh', 4), value: 99_000_000_000_000n }]);
    const [atServer, atNode] = await Promise.all(
      [a, node].map(({ api }) => post<ErrorBody>(api, '/api/tx', { tx: hexOf(double) })),
    );
    expect(atServer!.status).toBe(422);
    expect({ ...atServer!.body.error, requestId: '' }).toEqual({ ...atNode!.body.error, requestId: '' });
    expect(a.stderr).not.toContain(TEST_KEY);
  });

  test('the OpenAPI document lists the served routes alone, and every other route of a node is refused', async () => {
    const [ofServer, ofNode] = await Promise.all([a, node].map(({ api }) => OpenApi.of(api.url)));
    expect(
      await new Validator().validate(structuredClone(ofServer!.document) as unknown as Record<string, unknown>),
    ).toEqual({
      valid: true,
    });
    const late = await fetch(`${a.api.url}/api/blocks/tip`, {
      headers: { authorization: `Bearer ${TEST_KEY}`, 'x-chain-height': '99999' },
    });
    expect(late.status).toBe(503);
    expect(await ofServer!.problems('GET', '/api/blocks/tip', late)).toEqual([]);
    expect(ofServer!.routes.filter((route) => !ofNode!.routes.includes(route))).toEqual([]);
    const absent = ofNode!.routes.filter((route) => !ofServer!.routes.includes(route));
    expect(absent).toContain('GET /api/mempool');
    expect(absent).toContain('GET /api/info');
    const wrong: string[] = [];
    for (const route of absent) {
      const [method, path] = route.split(' ') as [string, string];
      if (path.startsWith('/rest/') || path === '/api/session') continue;
      const sent = path.replaceAll(/\{\w+\}/g, 'x');
      const { status, body } = await a.api.request<ErrorBody>(sent, {
        method,
        ...(method === 'POST' && { body: '{}' }),
      });
      if (path === '/' || path.startsWith('/wallet')) {
        if (status < 400) wrong.push(`${route}: ${status}`);
      } else if (status !== 501 || body.error.code !== 'feature_disabled') wrong.push(`${route}: ${status}`);
    }
    expect(wrong).toEqual([]);
    const stranger = await a.api.request('/api/mempool', { headers: { authorization: '' } });
    expect(stranger.status).toBe(401);
  });

  test('a server without nodes accepts no transaction, and does not document it', async () => {
    const server = await startServe({ url });
    const { status, body } = await post<ErrorBody>(server.api, '/api/tx', { tx: '00' });
    expect([status, body.error.code]).toEqual([501, 'feature_disabled']);
    expect((await OpenApi.of(server.api.url)).routes).not.toContain('POST /api/tx');
    const { status: exit } = await server.stop();
    expect(exit).toBe(0);
  });

  test('a server with the rights of a reader reports its readiness, and stops at once on SIGTERM', async () => {
    for (const statement of [
      'CREATE ROLE server LOGIN',
      'GRANT USAGE ON SCHEMA obverse TO server',
      'GRANT SELECT ON ALL TABLES IN SCHEMA obverse TO server',
      'GRANT INSERT, UPDATE ON obverse.api_key_uses TO server',
      'GRANT INSERT, DELETE ON obverse.rate_batches TO server',
    ])
      await sql.unsafe(statement);
    const server = await startServe({ url: url.replace('obverse@', 'server@') });
    await server.until('the keys', async () => (await server.api.request('/readyz')).status === 200);
    const { body } = await server.api.request<Readiness>('/readyz');
    expect(body.checks).toMatchObject({ database: { status: 'ok' }, chain: { status: 'ok' }, keys: { status: 'ok' } });
    const { text } = await server.api.request('/metrics');
    expect(text).toMatch(new RegExp(`^obverse_chain_height ${chain.height}$`, 'm'));
    expect(text).toMatch(/^obverse_serve_events_behind 0$/m);
    const { status, ms } = await server.stop();
    expect(status).toBe(0);
    expect(ms).toBeLessThan(10_000);
  });

  test('a database of another network is refused', async () => {
    const { status, stderr } = await runProgram(['serve', '--network=signet', '--http.listen=127.0.0.1:0'], {
      env: { OBVERSE_SERVE_FROM: url },
    });
    expect(status).toBe(1);
    expect(stderr).toContain('the database holds the chain of network regtest, not of signet');
  });
});

test('no secret is in the arguments or the log, and a server waits for its database', async () => {
  const { url, sql } = database('waiting');
  const password = 'correct-horse-battery-staple';
  const secretUrl = url.replace('obverse@127.0.0.1', `obverse:${password}@127.0.0.1`);
  for (const args of [['--from', secretUrl], [`--serve.from=${secretUrl}`]]) {
    const { status, stderr } = await runProgram(['serve', ...args]);
    expect(status).toBe(2);
    expect(stderr).toContain('set OBVERSE_SERVE_FROM');
    expect(stderr).not.toContain(password);
  }
  const none = await runProgram(['serve']);
  expect([none.status, none.stderr]).toEqual([
    2,
    expect.stringContaining('serve.from: the URL of the database is missing'),
  ]);

  // The tables are missing until a node makes them.
  const server = await new ServeProcess({ url: secretUrl, args: ['--network=regtest'] }).listening();
  await server.output('stderr', /"msg":"the database cannot be read","problem":"the database has no chain for servers/);
  const early = await server.api.request<ErrorBody>('/api/blocks/tip');
  expect([early.status, early.body.error.code]).toEqual([503, 'warming_up']);
  expect((await server.api.request('/readyz')).status).toBe(503);
  expect((await server.api.request('/healthz')).status).toBe(200);
  const chain = recentChain(12, { payments: 1 });
  const node = await startNode({ datadir: await directoryWith(chain), env: { OBVERSE_SINK_POSTGRES: url } });
  await server.ready();
  expect(await server.api.json<Tip>('/api/blocks/tip')).toMatchObject({ height: 12 });

  // Another database behind the same name has other events.
  await node.stop();
  await sql`UPDATE obverse.sink_position SET log_tag = 'zzzzzzzz'`;
  const { status } = await server.end();
  expect(status).toBe(1);
  expect(server.stderr).toContain('the database was replaced by another one');
  expect(server.stderr).not.toContain(password);
  await sql.close();
});

async function socketOf(api: ApiClient, watch: object): Promise<EventSocket> {
  const socket = await api.socket();
  socket.send(watch);
  await socket.until('the reply', ({ type }) => type === 'ack');
  return socket;
}

/** A stream of server-sent events behind a cursor. */
async function streamed(api: ApiClient, lastEventId: string) {
  const ended = new AbortController();
  const response = await fetch(`${api.url}/api/stream?types=newBlock`, {
    headers: { authorization: `Bearer ${api.key}`, 'last-event-id': lastEventId },
    signal: ended.signal,
  });
  expect(response.status).toBe(200);
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  let text = '';
  return {
    /** The id and the hash of the next block. */
    async next(): Promise<{ id: string; hash: string }> {
      for (;;) {
        const found = /id: (\S+)\nevent: newBlock\ndata: (.*)\n\n/.exec(text);
        if (found) {
          text = text.slice(found.index + found[0].length);
          return { id: found[1]!, hash: (JSON.parse(found[2]!) as WsMessage).data.hash as string };
        }
        const { value, done } = await reader.read();
        if (done) throw new Error(`the stream ended: ${text}`);
        text += decoder.decode(value, { stream: true });
      }
    },
    end: () => ended.abort(),
  };
}
