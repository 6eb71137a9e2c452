import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { issueKey } from '../../src/auth/issue-key.ts';
import type { MempoolChange } from '../../src/mempool/changes.ts';
import type { PeerView } from '../../src/port/peer-view.ts';
import { BEARER, startTestApi, type TestApi } from '../lib/api-fixture.ts';
import type { ApiOverrides } from '../lib/default-options.ts';
import { ManualClock } from '../lib/manual-clock.ts';
import { WsClient } from './ws-client.ts';

/** A server on a chain of blocks without bodies; the mempool's events get numbers between those of the chain. */
class Stream implements AsyncDisposable {
  readonly it: TestApi;

  constructor(limits: ApiOverrides['limits'] = {}, restarted = false) {
    this.it = startTestApi({ overrides: { limits: { wsPerKey: 100, ...limits } }, restarted });
  }

  mine(): number {
    return this.it.node.mine();
  }

  mempool(count: number, data: (seq: number) => MempoolChange = update): number {
    const seqs = Array.from({ length: count }, () => this.it.node.takeSeq());
    this.it.api.context.events.append(seqs.map(data));
    return seqs.at(-1)!;
  }

  async client(headers: Record<string, string> = BEARER): Promise<WsClient> {
    const client = new WsClient(this.it.api.url, { headers });
    if (!(await client.opened)) throw new Error('refused');
    return client;
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.it[Symbol.asyncDispose]();
  }
}

function update(seq: number): MempoolChange {
  return { kind: 'update', seq, data: `{"seq":${seq}}`, totals: {} as never };
}

function large(seq: number): MempoolChange {
  const data = `{"seq":${seq},"note":"${'n'.repeat(50_000)}${Math.random()}"}`;
  return { kind: 'update', seq, data, totals: {} as never };
}

function removed(seq: number): MempoolChange {
  return {
    kind: 'removed',
    slot: 0,
    seq,
    data: `{"seq":${seq}}`,
    txid: new Uint8Array(32),
    reason: 'expiry',
    silent: false,
    replacedBy: null,
  };
}

const keep = (entries: number) => ({ eventLog: { entries, bytes: 1e9, ageMs: 1e9 } });
const seqs = (client: WsClient) => client.received.filter(({ id }) => id === undefined).map(({ data }) => data.seq);

describe('the stream', () => {
  test('holds the events of chain and mempool in the order of their numbers', async () => {
    await using it = new Stream();
    using client = await it.client();
    it.mine();
    it.mempool(3);
    it.mempool(1, removed);
    it.mine();
    it.mempool(1);
    const messages = await client.until(6);
    expect(messages.map(({ type, data }) => [type, data.seq])).toEqual([
      ['newBlock', 2],
      ['mempoolUpdate', 3],
      ['mempoolUpdate', 4],
      ['mempoolUpdate', 5],
      ['newBlock', 7],
      ['mempoolUpdate', 8],
    ]);
  });

  test('a client that falls behind the log is closed with the cursor to resume from', async () => {
    await using it = new Stream(keep(10));
    using idle = await it.client();
    const last = it.mempool(150);
    // 140 of 150 events are evicted. Few are kept, so that they are evicted before the first delivery.
    const { code, reason } = await idle.closed;
    expect(code).toBe(4008);
    const [, after] = /^resume after (\w+)$/.exec(reason)!;
    using client = await it.client();
    const ack = await client.ask('resume', { after });
    expect(ack.data).toMatchObject({ from: 2, to: last, gap: { scope: 'mempool', fromSeq: 2, toSeq: 141 } });
    await client.next(({ data }) => data.seq === last);
    expect(client.received.map(({ type }) => type).slice(0, 2)).toEqual(['ack', 'gap']);
    expect(seqs(client).slice(1)).toEqual(Array.from({ length: 10 }, (_, i) => 142 + i));
    it.mempool(1);
    await client.next(({ data }) => data.seq === last + 1);
  });

  test('who wants nothing of the mempool misses nothing of it', async () => {
    await using it = new Stream(keep(10));
    using client = await it.client();
    await client.ask('subscribe', { events: ['newBlock'], replace: true });
    it.mine();
    it.mempool(50);
    const last = it.mine();
    await client.next(({ data }) => data.seq === last);
    expect(seqs(client)).toEqual([2, last]);
  });

  test('after a restart numbers and cursors of the process before are accepted', async () => {
    await using it = new Stream({}, true);
    using client = await it.client();
    const gap = { scope: 'mempool', fromSeq: 500, toSeq: 10_000 };
    expect((await client.ask('resume', { after: 500 })).data).toMatchObject({ gap });
    expect((await client.ask('resume', { after: 1_000_000 })).data).toMatchObject({ code: 'resume_unavailable' });
    const reported = await client.next(({ type }) => type === 'gap');
    expect(reported.data).toMatchObject(gap);
    // The gap says where to go on when it has been dealt with.
    const again = await client.ask('resume', { after: reported.data.cursor });
    expect(again.data).toMatchObject({ from: 10_001, gap: null });
    const last = it.mine();
    await client.next(({ data }) => data.seq === last);
  });

  test('every event has a cursor, and what is no event of the log has none', async () => {
    await using it = new Stream();
    using client = await it.client();
    await client.ask('subscribe', { events: ['syncStatus', 'transactionRemoved'] });
    it.mine();
    const last = it.mempool(3, removed);
    await client.next(({ data }) => data.seq === last);
    await client.next(({ type }) => type === 'syncStatus');
    for (const { type, data } of await client.events())
      if (type === 'syncStatus') expect(data.cursor).toBeUndefined();
      else expect(data.cursor).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    const cursors = client.received.flatMap(({ data }) => data.cursor ?? []);
    expect(new Set(cursors).size).toBe(4);
    // The state says where the log ends now.
    const { cursor } = (await client.ask('status')).data;
    expect((await client.ask('resume', { after: cursor })).data).toMatchObject({ from: last + 1, to: last });
  });

  test('a cursor of another node is rejected, and the connection goes on as it was', async () => {
    await using it = new Stream();
    await using other = new Stream();
    using foreign = await other.client();
    other.mine();
    const { cursor } = (await foreign.next(({ type }) => type === 'newBlock')).data;
    using client = await it.client();
    for (const [after, reason] of [
      [cursor, 'other-log'],
      ['x', 'malformed'],
      ['12', 'malformed'],
    ])
      for (const [type, data] of [
        ['resume', { after }],
        ['subscribe', { events: ['reorg'], after }],
      ] as const)
        expect(await client.ask(type, data)).toMatchObject({
          type: 'error',
          data: { code: 'invalid_cursor', details: { parameter: 'after', reason } },
        });
    const last = it.mine();
    await client.next(({ data }) => data.seq === last);
    expect(seqs(client)).toEqual([last]);
  });

  test('subscribe with a number sends what is behind it', async () => {
    await using it = new Stream();
    const last = it.mempool(5, removed);
    using client = await it.client();
    const ack = await client.ask('subscribe', { events: ['transactionRemoved'], replace: true, after: 2 });
    expect(ack.data).toEqual({ events: ['transactionRemoved'], from: 3, to: last, gap: null });
    await client.next(({ data }) => data.seq === last);
    expect(seqs(client)).toEqual([3, 4, 5, 6]);
  });
});

describe('events without numbers', () => {
  test('are sent to those who asked, where their scope allows it', async () => {
    await using it = new Stream();
    const { api } = it.it;
    const { key } = issueKey(api.auth.store!, { label: '', scopes: ['read'] }, 1);
    api.auth.keysChanged();
    using reader = await it.client({ authorization: `Bearer ${key}` });
    for (const [event, required] of [
      ['peerConnected', 'admin'],
      ['peerDisconnected', 'admin'],
      ['walletTransaction', 'wallet.read'],
    ])
      expect((await reader.ask('subscribe', { events: [event] })).data).toMatchObject({
        code: 'insufficient_scope',
        details: { required },
      });
    using admin = await it.client();
    await admin.ask('subscribe', { events: ['peerConnected', 'syncStatus', 'feeUpdate'] });
    await reader.ask('subscribe', { events: ['feeUpdate'] });
    it.mine();
    const status = await admin.next(({ type, data }) => type === 'syncStatus' && data.height === 1);
    expect(status.data).toEqual({
      state: 'synced',
      height: 1,
      headers: 1,
      progress: 1,
      phase: 'following',
      presynced: null,
    });
    await reader.next(({ type }) => type === 'newBlock');
    expect((await reader.events()).map(({ type }) => type)).toEqual(['newBlock']);
  });
});

describe('what operators see', () => {
  const PEER: PeerView = {
    id: 3,
    address: '192.0.2.1:8333',
    network: 'ipv4',
    inbound: false,
    connectionType: 'outbound-full-relay',
    transport: 'v2',
    services: '0000000000000409',
    servicesNames: ['NETWORK', 'WITNESS', 'NETWORK_LIMITED'],
    version: 70016,
    userAgent: '/Satoshi:31.0.0/',
    connectedAt: 1_700_000_000,
    lastSend: 1_700_000_010,
    lastRecv: 1_700_000_011,
    bytesSent: 1000,
    bytesRecv: 2000,
    pingMs: 12.5,
    minPingMs: null,
    timeOffset: -1,
    startingHeight: 160,
    syncedHeaders: 160,
    syncedBlocks: 160,
    relayTxs: true,
    minFeeFilter: 0.1,
    permissions: [],
    details: {} as never,
  };
  const who = {
    id: 3,
    address: '192.0.2.1:8333',
    network: 'ipv4',
    inbound: false,
    connectionType: 'outbound-full-relay',
    transport: 'v2',
    userAgent: '/Satoshi:31.0.0/',
  };

  test('peers that come and go, for those who asked', async () => {
    await using it = new Stream();
    using admin = await it.client();
    using other = await it.client();
    await admin.ask('subscribe', { events: ['peerConnected', 'peerDisconnected'] });
    it.it.node.notifyPeer({ kind: 'connected', time: 1_700_000_001, peer: PEER, reason: null });
    it.it.node.notifyPeer({ kind: 'disconnected', time: 1_700_000_009, peer: PEER, reason: 'ping timeout' });
    expect((await admin.next(({ type }) => type === 'peerConnected')).data).toEqual({
      time: 1_700_000_001,
      ...who,
      version: 70016,
      services: '0000000000000409',
      servicesNames: ['NETWORK', 'WITNESS', 'NETWORK_LIMITED'],
      startingHeight: 160,
      timeOffset: -1,
      relayTxs: true,
      permissions: [],
    });
    expect((await admin.next(({ type }) => type === 'peerDisconnected')).data).toEqual({
      time: 1_700_000_009,
      ...who,
      reason: 'ping timeout',
      connectedAt: 1_700_000_000,
      bytesSent: 1000,
      bytesRecv: 2000,
    });
    expect(await other.events()).toEqual([]);
  });

  test('the state of the sync: at most once a second, and changes that hardly matter are not delivered', async () => {
    const clock = new ManualClock(Date.now());
    await using it = startTestApi({ clock });
    const { node } = it;
    using client = new WsClient(it.api.url, { headers: BEARER });
    await client.opened;
    const statuses = () => client.received.filter(({ type }) => type === 'syncStatus').map(({ data }) => data);
    node.current = {
      ...node.current,
      initialBlockDownload: true,
      verificationProgress: 0,
      sync: { phase: 'presync', presynced: 2000, headersProgress: 0.1, confirmed: false },
    };
    node.mine();
    await client.ask('subscribe', { events: ['syncStatus'], replace: true });
    await client.next(({ type }) => type === 'syncStatus');
    expect(statuses()).toEqual([
      { state: 'syncing', height: 1, headers: 1, progress: 0, phase: 'presync', presynced: 2000 },
    ]);
    for (let i = 0; i < 20; i++) node.mine();
    await client.events();
    expect(statuses()).toHaveLength(1);
    clock.advance(1000);
    node.current = {
      ...node.current,
      verificationProgress: 0.51234567,
      sync: { ...node.current.sync, phase: 'blocks', presynced: null },
    };
    node.mine();
    await client.events();
    expect(statuses().slice(1)).toEqual([
      { state: 'syncing', height: 22, headers: 22, progress: 0.51234567, phase: 'blocks', presynced: null },
    ]);
    clock.advance(1000);
    node.current = { ...node.current, verificationProgress: 0.51234999 };
    node.emit('other', {});
    await client.events();
    expect(statuses()).toHaveLength(2);
    // It is delivered without a commit as well.
    node.current = { ...node.current, headers: 30 };
    await client.next(({ data }) => data.headers === 30);
    expect(statuses()).toHaveLength(3);
  });
});

describe('messages', () => {
  test('parameters are checked, and each error has its code', async () => {
    await using it = new Stream();
    using client = await it.client();
    for (const [type, data, code] of [
      ['subscribe', { events: 'newBlock' }, 'invalid_parameter'],
      ['subscribe', { events: ['weather'] }, 'invalid_parameter'],
      ['subscribe', { events: [], details: 'long' }, 'invalid_parameter'],
      ['subscribe', { events: [], replace: 1 }, 'invalid_parameter'],
      ['subscribe', { events: [], after: -1 }, 'invalid_parameter'],
      ['unsubscribe', {}, 'invalid_parameter'],
      ['resume', {}, 'invalid_parameter'],
      ['resume', { after: 1.5 }, 'invalid_parameter'],
      ['shout', {}, 'unknown_type'],
    ] as const) {
      expect(await client.ask(type, data)).toMatchObject({ type: 'error', data: { code } });
      await client.ask('ping');
    }
  });

  test('ten errors in a row end the connection, also where they take their time', async () => {
    await using it = new Stream();
    using client = await it.client();
    for (let i = 0; i < 10; i++) client.send({ type: 'watch', data: { addresses: ['x'] } });
    expect((await client.closed).code).toBe(4400);
  });
});

test('a client gets all of much that comes at once', async () => {
  await using it = new Stream();
  using client = await it.client();
  const last = it.mempool(400, large);
  await client.next(({ data }) => data.seq === last);
  expect(seqs(client)).toEqual(Array.from({ length: 400 }, (_, i) => i + 2));
});

type Step = { kind: 'mine' | 'mempool' | 'leave' | 'wait'; by: number };

test('any order of commits, mempool events, disconnects and resumes gives everybody everything once', async () => {
  const step: fc.Arbitrary<Step> = fc.record({
    kind: fc.constantFrom('mine', 'mempool', 'mempool', 'leave', 'wait'),
    by: fc.nat(2),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      await using it = new Stream();
      const readers = await Promise.all(
        [0, 1, 2].map(async () => ({ client: await it.client(), got: [] as number[] })),
      );
      const collect = (reader: (typeof readers)[number]) => {
        for (const seq of seqs(reader.client)) if (seq !== undefined) reader.got.push(seq as number);
        return reader.got.at(-1) ?? 1;
      };
      let last = 1;
      for (const { kind, by } of steps) {
        const reader = readers[by]!;
        if (kind === 'mine') last = it.mine();
        else if (kind === 'mempool') last = it.mempool(1 + by);
        else if (kind === 'wait') await reader.client.ask('ping');
        else {
          reader.client.socket.close();
          await reader.client.closed;
          const after = collect(reader);
          reader.client = await it.client();
          const ack = await reader.client.ask('resume', { after });
          if (last > 1) expect(ack.data).toMatchObject({ from: after + 1, gap: null });
        }
      }
      last = it.mine();
      for (const reader of readers) {
        await reader.client.next(({ data, id }) => id === undefined && data.seq === last);
        collect(reader);
        expect(reader.got).toEqual(Array.from({ length: last - 1 }, (_, i) => i + 2));
      }
    }),
    { numRuns: 15 },
  );
}, 180_000);
