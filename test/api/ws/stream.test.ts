import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { issueKey } from '../../../src/api/auth/issue-key.ts';
import type { ApiOverrides } from '../../../src/api/options.ts';
import type { MempoolChange } from '../../../src/mempool/changes.ts';
import { BEARER, startTestApi, type TestApi } from '../api-fixture.ts';
import { WsClient } from './ws-client.ts';

/** A server on a chain of blocks without bodies; the mempool's events get numbers between those of the chain. */
class Stream implements AsyncDisposable {
  readonly it: TestApi;

  constructor(limits: ApiOverrides['limits'] = {}) {
    this.it = startTestApi({ overrides: { limits: { wsPerKey: 100, ...limits } } });
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
    const client = new WsClient(this.it.api.url, headers);
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

  test('a client that falls out of what is kept is closed, and told where to go on', async () => {
    await using it = new Stream(keep(100));
    using idle = await it.client();
    const last = it.mempool(150);
    // It was to get 150 events of which 50 are gone.
    expect(await idle.closed).toMatchObject({ code: 4008, reason: 'resume after 1' });
    using client = await it.client();
    const ack = await client.ask('resume', { after: 1 });
    expect(ack.data).toMatchObject({ from: 2, to: last, gap: { scope: 'mempool', fromSeq: 2, toSeq: 51 } });
    await client.next(({ data }) => data.seq === last);
    expect(client.received.map(({ type }) => type).slice(0, 2)).toEqual(['ack', 'gap']);
    expect(seqs(client).slice(1)).toEqual(Array.from({ length: 100 }, (_, i) => 52 + i));
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

  test('after a restart numbers of the process before are taken', async () => {
    await using it = new Stream();
    using client = await it.client();
    const ack = await client.ask('resume', { after: 500 });
    expect(ack.data).toMatchObject({ gap: { scope: 'mempool', fromSeq: 501 } });
    expect((await client.ask('resume', { after: 1_000_000 })).data).toMatchObject({ code: 'resume_unavailable' });
    const last = it.mine();
    await client.next(({ data }) => data.seq === last);
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
    const status = await admin.next(({ type }) => type === 'syncStatus');
    expect(status.data).toEqual({ state: 'synced', height: 1, headers: 1, progress: 1 });
    await reader.next(({ type }) => type === 'newBlock');
    expect((await reader.events()).map(({ type }) => type)).toEqual(['newBlock']);
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
}, 60_000);
