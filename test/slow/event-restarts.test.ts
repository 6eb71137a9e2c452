import { beforeAll, describe, expect, test } from 'bun:test';
import { addressOf } from '../../src/script/address.ts';
import type { RegtestChain } from '../lib/chain-builder.ts';
import { broadcast, mempoolLoaded, mine, nodeWith, post } from '../lib/mempool-node.ts';
import type { WsMessage } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess, startNode } from '../lib/node-process.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { lockOf, spend } from '../lib/tx-builder.ts';
import { WebhookReceiver } from '../lib/webhook-receiver.ts';

cleanUpAfterTests();

const ARGS = ['--webhooks.allowedNetworks=127.0.0.0/8', '--webhooks.maxPause=1'];
const EVERYTHING = ['newBlock', 'newTransaction', 'transactionRemoved', 'mempoolUpdate', 'addressTransaction'];
const DEPOSITS = ['addressTransaction'];
const SHOP = lockOf('p2wpkh', 9);

interface EventPage {
  readonly items: readonly WsMessage[];
  readonly lastCursor: string;
  readonly gap: Gap | null;
}

interface Gap {
  readonly scope: string;
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly cursor: string;
}

const isOf =
  (type: string) =>
  (message: WsMessage): boolean =>
    message.type === type;
const seqOf = ({ data }: WsMessage): number => data.seq as number;

describe('a restart announces missing events only', () => {
  const chain: RegtestChain = recentChain(130);
  const receivers = { all: new WebhookReceiver(), deposits: new WebhookReceiver() };
  let node: NodeProcess;
  let coin = 1;

  const deposit = () => {
    const from = chain.coin(coin++);
    return spend(from, [
      { to: SHOP, value: 1_0000n },
      { to: 'p2tr', value: from.output.value - 2_0000n },
    ]);
  };
  const page = (after: string, types: readonly string[]) =>
    node.api.json<EventPage>(`/api/events?after=${after}&types=${types}&limit=1000`);

  /** All messages behind a cursor as a page, a WebSocket and a stream deliver them, up to the newest event. */
  async function overEachWay(after: string, types: readonly string[]): Promise<Record<string, WsMessage[]>> {
    const { items, gap, lastCursor } = await page(after, types);
    const gaps = gap ? [{ type: 'gap', data: { ...gap } }] : [];
    const last = items.at(-1)!.data.cursor;
    const socket = await node.api.socket();
    socket.send({ type: 'subscribe', id: 1, data: { events: types, replace: true, after } });
    await socket.until('the last event', ({ data }) => data.cursor === last);
    const ack = socket.messages.find(isOf('ack'))!;
    expect((ack.data.gap as Gap | null) ?? null).toEqual(gap);
    socket.close();
    const ended = new AbortController();
    const headers = { authorization: `Bearer ${node.api.key}`, 'last-event-id': after };
    const reply = await fetch(`${node.api.url}/api/stream?types=${types}`, { headers, signal: ended.signal });
    const streamed: WsMessage[] = [];
    let text = '';
    for await (const bytes of reply.body!) {
      text += Buffer.from(bytes).toString();
      const lines = text.split('\n');
      text = lines.pop()!;
      for (const line of lines) if (line.startsWith('data: ')) streamed.push(JSON.parse(line.slice(6)) as WsMessage);
      if (streamed.some(({ data }) => data.cursor === last)) break;
    }
    ended.abort();
    expect(lastCursor).not.toBe(after);
    return {
      page: [...gaps, ...items],
      socket: socket.messages.filter(({ type }) => type !== 'ack'),
      stream: streamed,
    };
  }

  /** Cursor of the newest event of the types, and that of the end of the log, when the node has nothing more to send. */
  async function cursorsNow(types: readonly string[]): Promise<{ last: string; end: string }> {
    const { height } = await node.api.json<{ height: number }>('/api/info');
    const isLast = ({ type, data }: WsMessage) =>
      type === 'mempoolUpdate' && (data.tip as { height: number }).height === height;
    const all = await node.until('the update behind the block', async () => {
      const { items, lastCursor } = await page('0', [...EVERYTHING]);
      return isLast(items.at(-1)!) && { items, lastCursor };
    });
    const { items } = await page('0', types);
    return { last: items.at(-1)!.data.cursor as string, end: all.items.at(-1)!.data.cursor as string };
  }

  async function restart(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    await node.stop(signal);
    node = await startNode({ datadir: node.datadir, args: ARGS });
    await mempoolLoaded(node);
  }

  beforeAll(async () => {
    node = await nodeWith(chain, ARGS);
    const value = addressOf(SHOP.scriptPubKey, chain.params.address)!;
    await post(node.api, '/api/watches', { kind: 'address', value });
    for (const [receiver, types] of [
      [receivers.all, EVERYTHING],
      [receivers.deposits, DEPOSITS],
    ] as const)
      expect((await post(node.api, '/api/webhooks', { url: receiver.url, types })).status).toBe(200);
  });

  for (const signal of ['SIGKILL', 'SIGTERM', 'SIGKILL'] as const)
    test(`behind ${signal}: a consumer that has received everything gets no gap on any way`, async () => {
      await mine(node.api, chain, [deposit()]);
      const { last, end } = await cursorsNow(DEPOSITS);
      const hasAll = ({ messages }: WebhookReceiver, cursor: string) =>
        messages.some(({ data }) => data.cursor === cursor);
      await receivers.all.until('everything', () => hasAll(receivers.all, end));
      await receivers.deposits.until('the deposit', () => hasAll(receivers.deposits, last));
      const delivered = [receivers.all, receivers.deposits].map(({ messages }) => messages.length);
      // A kill between a delivery and its record has the delivery made again, or its events reported as missing.
      await node.until('the records of the deliveries', async () => {
        const { items } = await node.api.json<{ items: { lag: { events: number } }[] }>('/api/webhooks');
        return items.every(({ lag }) => lag.events === 0);
      });
      await restart(signal);
      await mine(node.api, chain, [deposit()]);
      const { last: later, end: now } = await cursorsNow(DEPOSITS);
      for (const [cursor, types] of [
        [end, EVERYTHING],
        // A consumer of deposits does not miss the update of the mempool behind the last one.
        [last, DEPOSITS],
      ] as const)
        for (const [way, messages] of Object.entries(await overEachWay(cursor, types))) {
          expect([way, messages.filter(isOf('gap'))]).toEqual([way, []]);
          const seqs = messages.map(seqOf);
          expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
          expect(messages.filter(isOf('addressTransaction')).length).toBeGreaterThan(0);
        }
      await receivers.all.until('everything', () => hasAll(receivers.all, now));
      await receivers.deposits.until('the deposit', () => hasAll(receivers.deposits, later));
      for (const [i, { messages }] of [receivers.all, receivers.deposits].entries())
        expect(messages.slice(delivered[i]).filter(({ type }) => type === 'gap')).toEqual([]);
    }, 60_000);

  test('two restarts in a row: the gap has the numbers of the events between them', async () => {
    const { end } = await cursorsNow(EVERYTHING);
    await restart('SIGTERM');
    const { items } = await page(end, EVERYTHING);
    expect(items.every(isOf('mempoolUpdate'))).toBe(true);
    await restart('SIGKILL');
    await mine(node.api, chain, [deposit()]);
    const expected = { scope: 'mempool', fromSeq: seqOf(items[0]!), toSeq: seqOf(items.at(-1)!) };
    for (const [way, messages] of Object.entries(await overEachWay(end, EVERYTHING))) {
      expect([way, messages.filter(isOf('gap'))]).toMatchObject([way, [{ data: expected }]]);
      expect(messages.findIndex(isOf('gap'))).toBe(0);
    }
    // A consumer of deposits misses none.
    for (const messages of Object.values(await overEachWay(end, DEPOSITS)))
      expect(messages.filter(isOf('gap'))).toEqual([]);
  }, 60_000);

  test('the end of the log, from which a new consumer begins, is behind all gaps', async () => {
    await restart('SIGKILL');
    const { lastCursor } = await node.api.json<EventPage>('/api/events');
    expect((await page(lastCursor, EVERYTHING)).gap).toBeNull();
    await mine(node.api, chain, []);
    expect((await page(lastCursor, EVERYTHING)).gap).toBeNull();
  }, 60_000);

  test('a transaction that a kill removes from the mempool is a gap that names its event', async () => {
    const before = (await cursorsNow(EVERYTHING)).end;
    const tx = deposit();
    await broadcast(node.api, tx);
    const events = await node.until('the update behind it', async () => {
      const { items } = await page(before, EVERYTHING);
      return items.at(-1)?.type === 'mempoolUpdate' && items.at(-1)!.data.count === 1 && items;
    });
    const end = events.at(-1)!.data.cursor as string;
    const numbers = { scope: 'mempool', fromSeq: seqOf(events[0]!), toSeq: seqOf(events.at(-1)!) };
    await restart('SIGKILL');
    expect((await node.api.rpc<string[]>('getrawmempool')).length).toBe(0);
    await mine(node.api, chain, []);
    for (const [after, types, expected] of [
      // Messages that were derived from the event of the position may be missing as well.
      [before, EVERYTHING, { ...numbers, fromSeq: numbers.fromSeq - 1 }],
      [before, DEPOSITS, { ...numbers, fromSeq: numbers.fromSeq - 1, toSeq: numbers.fromSeq }],
      [end, EVERYTHING, numbers],
      [end, DEPOSITS, numbers],
    ] as const) {
      const { gap } = await page(after, types);
      expect(gap).toMatchObject(expected);
      // The position behind the gap has none.
      expect((await page(gap!.cursor, types)).gap).toBeNull();
    }
    // One that is saved stays.
    const { lastCursor } = await node.api.json<EventPage>('/api/events');
    await broadcast(node.api, tx);
    const saved = await node.until('the update behind it', async () => {
      const { items } = await page(lastCursor, EVERYTHING);
      return items.at(-1)?.type === 'mempoolUpdate' && items.at(-1)!.data.count === 1 && items;
    });
    await node.api.rpc('savemempool');
    await restart('SIGKILL');
    expect((await node.api.rpc<string[]>('getrawmempool')).length).toBe(1);
    expect((await page(saved.at(-1)!.data.cursor as string, EVERYTHING)).gap).toBeNull();
  }, 60_000);
});
