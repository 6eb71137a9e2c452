import { describe, expect, test } from 'bun:test';
import { issueKey } from '../../src/auth/issue-key.ts';
import { BEARER, STATIC_KEY, startTestApi, type TestApi } from '../lib/api-fixture.ts';
import { ManualClock } from '../lib/manual-clock.ts';
import { WsClient } from './ws-client.ts';

const clientOf = (it: TestApi, options: ConstructorParameters<typeof WsClient>[1] = { headers: BEARER }) =>
  new WsClient(it.api.url, options);

const upgradeHeaders = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

describe('connecting', () => {
  test('needs a key in the header or the subprotocol, and says no over plain HTTP', async () => {
    await using it = startTestApi();
    const refusals: [Record<string, string>, number, string][] = [
      [{}, 401, 'missing_credentials'],
      [{ authorization: 'Bearer wrong' }, 401, 'invalid_credentials'],
      [{ 'sec-websocket-protocol': 'obverse.events.v1, bearer.wrong' }, 401, 'invalid_credentials'],
      [
        { 'sec-websocket-protocol': `obverse.events.v1, bearer.${STATIC_KEY}`, origin: 'https://shop.example' },
        403,
        'origin_not_allowed',
      ],
    ];
    for (const [headers, status, code] of refusals) {
      const reply = await it.get('/ws', { headers: { ...upgradeHeaders, ...headers } });
      expect(reply.status).toBe(status);
      expect(await reply.json()).toMatchObject({ error: { code } });
    }
    expect((await it.get(`/ws?key=${STATIC_KEY}`, { headers: upgradeHeaders })).status).toBe(401);
    const byHeader = clientOf(it);
    expect(await byHeader.opened).toBe(true);
    expect(byHeader.socket.protocol).toBe('');
    const byProtocol = clientOf(it, { protocols: ['obverse.events.v1', `bearer.${STATIC_KEY}`] });
    expect(await byProtocol.opened).toBe(true);
    expect(byProtocol.socket.protocol).toBe('obverse.events.v1');
  });

  test('needs the scope read', async () => {
    await using it = startTestApi();
    const { key } = issueKey(it.api.auth.store!, { label: '', scopes: ['metrics'] }, 1);
    it.api.auth.keysChanged();
    const reply = await it.get('/ws', { headers: { ...upgradeHeaders, authorization: `Bearer ${key}` } });
    expect(reply.status).toBe(403);
  });

  test('is limited by key, and by address without one', async () => {
    await using it = startTestApi({
      overrides: { ws: { auth: 'public' }, limits: { wsPerKey: 2, wsAnonymousPerIp: 1 } },
    });
    for (const _ of [1, 2]) expect(await clientOf(it).opened).toBe(true);
    const refused = await it.get('/ws', { headers: { ...upgradeHeaders, ...BEARER } });
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ error: { code: 'too_many_connections' } });
    expect(await clientOf(it, {}).opened).toBe(true);
    expect((await it.get('/ws', { headers: upgradeHeaders })).status).toBe(429);
  });
});

describe('the default stream', () => {
  test('is newBlock from now on, without a greeting, in order and with what REST shows', async () => {
    await using it = startTestApi();
    it.node.mine(3);
    const client = clientOf(it);
    await client.opened;
    it.node.mine(2);
    it.node.emit('blockDisconnected', { height: 9 });
    it.node.mine();
    const messages = await client.until(3);
    expect(messages.map(({ type, data }) => [type, data.height])).toEqual([
      ['newBlock', 4],
      ['newBlock', 5],
      ['newBlock', 6],
    ]);
    expect(Object.keys(messages[0]!)).toEqual(['type', 'data']);
    const seqs = messages.map(({ data }) => data.seq as number);
    expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
    expect((await it.get('/healthz')).headers.get('x-chain-height')).toBe('6');
  });

  test('many clients all receive everything', async () => {
    await using it = startTestApi({ overrides: { limits: { wsPerKey: 60 } } });
    const clients = Array.from({ length: 50 }, () => clientOf(it));
    await Promise.all(clients.map(({ opened }) => opened));
    for (let i = 0; i < 20; i++) it.node.mine(50);
    for (const client of clients) {
      const messages = await client.until(1000);
      expect(messages.map(({ data }) => data.height)).toEqual(Array.from({ length: 1000 }, (_, i) => i + 1));
    }
  });

  test('a client that pauses reading receives everything later, and delays no other client', async () => {
    await using it = startTestApi();
    const lazy = await lazyClient(it);
    const eager = clientOf(it);
    await eager.opened;
    const note = 'n'.repeat(20_000);
    for (let i = 0; i < 10; i++) it.node.mine(50, note + Math.random());
    await eager.until(500);
    await until(async () => (await metrics(it)).includes('obverse_ws_backpressured 1'));
    const heights = await lazy.readHeights(500);
    expect(heights).toEqual(Array.from({ length: 500 }, (_, i) => i + 1));
  });

  test('a client that stays behind is closed with the cursor to resume from', async () => {
    const clock = new ManualClock(Date.now());
    await using it = startTestApi({ clock, overrides: { limits: { wsMaxLagMs: 1000 }, ws: { sweepMs: 20 } } });
    const lazy = await lazyClient(it);
    it.node.mine(500, 'n'.repeat(20_000));
    await until(async () => (await metrics(it)).includes('obverse_ws_backpressured 1'));
    clock.advance(2000);
    await until(async () => (await metrics(it)).includes('obverse_ws_connections 0'));
    const closed = await lazy.closedByServer();
    expect(closed).toMatch(/^4008 resume after \w{18,64}$/);
  });
});

describe('messages', () => {
  test('ping, status and the order of replies', async () => {
    await using it = startTestApi();
    const client = clientOf(it);
    await client.opened;
    expect(await client.exchange({ type: 'ping', id: 'a', data: { mine: 1 } })).toMatchObject({
      type: 'pong',
      id: 'a',
      data: { mine: 1, seq: 1, height: 0, time: expect.any(Number) },
    });
    expect(await client.exchange({ type: 'status' })).toMatchObject({
      type: 'status',
      data: {
        seq: 1,
        oldestSeq: 1,
        height: 0,
        events: ['newBlock', 'newTransaction', 'mempoolUpdate'],
        watched: 0,
        synced: true,
      },
    });
  });

  test('a node with an old tip does not say that it is in sync', async () => {
    await using it = startTestApi({ overrides: { ready: { maxTipAge: 3600 } } });
    const client = clientOf(it);
    await client.opened;
    expect(await client.exchange({ type: 'status' })).toMatchObject({ data: { synced: false } });
  });

  // JSON.stringify takes seconds for thirty thousand nested lists, during which no request is served.
  test('deep nesting is refused before it is parsed', async () => {
    await using it = startTestApi();
    const client = clientOf(it);
    await client.opened;
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const nested = (depth: number) => `{"type":"ping","data":${open.repeat(depth)}1${close.repeat(depth)}}`;
      expect(await client.exchange(nested(400))).toMatchObject({ type: 'pong' });
      expect(await client.exchange(nested(10_000))).toMatchObject({ type: 'error', data: { code: 'invalid_message' } });
    }
  });

  test('errors do not close the connection, ten in a row do', async () => {
    await using it = startTestApi();
    const client = clientOf(it);
    await client.opened;
    const wrong = [
      '{',
      '[]',
      '{"type":1}',
      '{"type":"dance","id":7}',
      '{"type":"resume","data":{"after":-1}}',
      '{"type":"subscribe","data":{"events":["newBlock"],"replace":"yes"}}',
      '{"type":"ping","id":{}}',
    ];
    const codes: unknown[] = [];
    for (const text of wrong) codes.push((await client.exchange(text)).data.code);
    expect(codes).toEqual([
      'invalid_message',
      'invalid_message',
      'invalid_message',
      'unknown_type',
      'invalid_parameter',
      'invalid_parameter',
      'invalid_message',
    ]);
    expect((await client.exchange({ type: 'ping' })).type).toBe('pong');
    for (let i = 0; i < 10; i++) client.send('{');
    expect((await client.closed).code).toBe(4400);
  });

  test('binary frames, too large ones and too many are refused with their codes', async () => {
    await using it = startTestApi({ overrides: { limits: { wsMessagesPer10s: 5 } } });
    const binary = clientOf(it);
    await binary.opened;
    binary.socket.send(Uint8Array.of(1));
    expect((await binary.closed).code).toBe(1003);
    const large = clientOf(it);
    await large.opened;
    large.send('x'.repeat(65 * 1024));
    expect((await large.closed).code).toBe(1009);
    const busy = clientOf(it);
    await busy.opened;
    for (let i = 0; i < 6; i++) busy.send({ type: 'ping' });
    expect((await busy.closed).code).toBe(4029);
  });

  test('subscribe and unsubscribe choose the events', async () => {
    await using it = startTestApi();
    const client = clientOf(it);
    await client.opened;
    const ack = await client.exchange({ type: 'subscribe', data: { events: ['blockDisconnected'], replace: true } });
    expect(ack).toMatchObject({ type: 'ack', data: { events: ['blockDisconnected'] } });
    it.node.mine();
    it.node.emit('blockDisconnected', { height: 1 });
    expect((await client.until(2))[1]).toMatchObject({ type: 'blockDisconnected', data: { height: 1 } });
    expect(await client.exchange({ type: 'subscribe', data: { events: ['weather'] } })).toMatchObject({
      type: 'error',
      data: { code: 'invalid_parameter' },
    });
    expect(await client.exchange({ type: 'unsubscribe', data: { events: ['blockDisconnected'] } })).toMatchObject({
      data: { events: [] },
    });
  });

  test('resume replays the log behind a number, then goes on live', async () => {
    await using it = startTestApi();
    const last = it.node.mine(700);
    const client = clientOf(it);
    await client.opened;
    client.send({ type: 'resume', id: 2, data: { after: 1 } });
    const messages = await client.until(701);
    expect(messages[0]).toEqual({ type: 'ack', id: 2, data: { from: 2, to: last, gap: null } });
    it.node.mine();
    await client.until(702);
    expect(messages.slice(1).map(({ data }) => data.height)).toEqual(Array.from({ length: 701 }, (_, i) => i + 1));
    expect(await client.exchange({ type: 'resume', data: { after: last + 1000 } })).toMatchObject({
      data: { code: 'resume_unavailable' },
    });
  });

  test('a resume before the oldest stored event reports the gap first', async () => {
    await using it = startTestApi();
    it.node.mine(20);
    it.node.prune(5);
    const client = clientOf(it);
    await client.opened;
    client.send({ type: 'resume', data: { after: 3 } });
    const messages = await client.until(7);
    const gap = { scope: 'all', fromSeq: 4, toSeq: 16 };
    expect(messages[0]).toMatchObject({ type: 'ack', data: { from: 17, to: 21, gap } });
    expect(messages[1]).toMatchObject({ type: 'gap', data: gap });
    expect(messages.slice(2).map(({ data }) => data.seq)).toEqual([17, 18, 19, 20, 21]);
  });

  test('without a key there is the default stream and nothing else', async () => {
    await using it = startTestApi({ overrides: { ws: { auth: 'public' } } });
    const client = clientOf(it, {});
    await client.opened;
    for (const message of [
      { type: 'resume', data: { after: 0 } },
      { type: 'subscribe', data: { events: ['reorg'] } },
    ])
      expect(await client.exchange(message)).toMatchObject({ type: 'error', data: { code: 'insufficient_scope' } });
    it.node.mine();
    expect((await client.until(3))[2]).toMatchObject({ type: 'newBlock' });
  });
});

describe('endings', () => {
  test('a revoked key closes its connections, a stop closes all', async () => {
    await using it = startTestApi();
    const { key, record } = issueKey(it.api.auth.store!, { label: '', scopes: ['read'] }, 1);
    it.api.auth.keysChanged();
    const mine = clientOf(it, { headers: { authorization: `Bearer ${key}` } });
    const other = clientOf(it);
    expect([await mine.opened, await other.opened]).toEqual([true, true]);
    it.api.auth.store!.revokeKey(record.id, 2);
    it.api.auth.keysChanged();
    expect((await mine.closed).code).toBe(4001);
    expect((await other.exchange({ type: 'ping' })).type).toBe('pong');
    const stopped = it.api.stop('test');
    expect((await other.closed).code).toBe(1001);
    await stopped;
  });

  test('a client that is silent for 75 s is dropped, one that answers pings is not', async () => {
    const clock = new ManualClock(Date.now());
    await using it = startTestApi({ clock, overrides: { ws: { sweepMs: 20 } } });
    const silent = await lazyClient(it);
    silent.listen();
    const lively = clientOf(it);
    await lively.opened;
    clock.advance(31_000);
    await sweep(it);
    clock.advance(31_000);
    await sweep(it);
    clock.advance(31_000);
    await silent.ended;
    expect((await lively.exchange({ type: 'ping' })).type).toBe('pong');
  });
});

async function metrics(it: TestApi): Promise<string> {
  return (await it.get('/metrics', { headers: BEARER })).text();
}

/** Waits for a state of the server that no message reports. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await Bun.sleep(5);
}

/** The server checks its connections every few seconds; a heartbeat shows that it just has. */
async function sweep(it: TestApi): Promise<void> {
  const watcher = clientOf(it);
  await watcher.opened;
  watcher.send({ type: 'subscribe', data: { events: ['heartbeat'] } });
  await watcher.until(2);
  watcher.socket.close();
}

/** A client on a bare socket that reads only on request, and never answers a ping. */
async function lazyClient(it: TestApi) {
  let bytes = Buffer.alloc(0);
  let wake: () => void = () => {};
  const ended = Promise.withResolvers<void>();
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port: it.api.port,
    socket: {
      data: (_, chunk) => {
        bytes = Buffer.concat([bytes, chunk]);
        wake();
      },
      close: () => {
        ended.resolve();
        wake();
      },
    },
  });
  const headers = Object.entries({ ...upgradeHeaders, ...BEARER, host: 'localhost' });
  socket.write(`GET /ws HTTP/1.1\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
  const more = () => new Promise<void>((resolve) => (wake = resolve));
  while (!bytes.includes('\r\n\r\n')) await more();
  bytes = bytes.subarray(bytes.indexOf('\r\n\r\n') + 4);
  socket.pause();
  const frame = async (): Promise<{ opcode: number; payload: Buffer }> => {
    for (;;) {
      const short = bytes.length > 1 ? bytes[1]! & 0x7f : 127;
      const head = short < 126 ? 2 : short === 126 ? 4 : 10;
      if (bytes.length >= head) {
        const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
        if (bytes.length >= head + length) {
          const result = { opcode: bytes[0]! & 0x0f, payload: bytes.subarray(head, head + length) };
          bytes = bytes.subarray(head + length);
          return result;
        }
      }
      await more();
    }
  };
  return {
    ended: ended.promise,
    listen: () => void socket.resume(),
    async readHeights(count: number): Promise<number[]> {
      socket.resume();
      const heights: number[] = [];
      while (heights.length < count) {
        const { opcode, payload } = await frame();
        if (opcode === 1) heights.push(JSON.parse(payload.toString()).data.height);
      }
      return heights;
    },
    async closedByServer(): Promise<string> {
      socket.resume();
      for (;;) {
        const { opcode, payload } = await frame();
        if (opcode === 8) return `${payload.readUInt16BE(0)} ${payload.subarray(2)}`;
      }
    },
  };
}
