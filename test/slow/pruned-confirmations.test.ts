import { beforeAll, describe, expect, test } from 'bun:test';
import { join, resolve } from 'node:path';
import { ObverseClient } from '../../clients/typescript/client.ts';
import { watchDeposits } from '../../clients/typescript/deposit-watcher.ts';
import { Ledger } from '../../clients/typescript/examples/ledger.ts';
import { directoryWith } from '../lib/chain-directory.ts';
import { post } from '../lib/mempool-node.ts';
import type { WsMessage } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess, poll, startNode, TEST_KEY, tempDir } from '../lib/node-process.ts';
import { requirePython } from '../lib/programs.ts';
import { WebhookReceiver } from '../lib/webhook-receiver.ts';
import { PAID_ADDRESS, wideChain } from '../lib/wide-blocks.ts';

cleanUpAfterTests();

const TIP = 480;
const THRESHOLD = 5;
const TYPES = ['newBlock', 'confirmation'];
/** Events behind the first stored block that the tests read. */
const LAST = 8;
const PYTHON = resolve(import.meta.dir, '../../clients/python');

const chain = wideChain(TIP);
const ADDRESS = PAID_ADDRESS(chain);

interface Page {
  readonly items: readonly WsMessage[];
  readonly lastCursor: string;
  readonly lastSeq: number;
}

describe('confirmations of transactions whose block is pruned', () => {
  let node: NodeProcess;
  let pruneHeight: number;
  /** The cursor behind the last block that is pruned, and that of the last event that is read. */
  let after: string;
  let last: string;

  const pageBehind = (position: string | number, more: string) =>
    node.api.json<Page>(`/api/events?after=${position}&${more}`);

  beforeAll(async () => {
    // The files of a chain without the setting would be large ones.
    const datadir = await directoryWith(chain, { fileLimit: 64 * 1024 });
    const args = ['--wallet.enabled=false', '--storage.prune=1', '--storage.fastPrune'];
    node = await startNode({ datadir, args: [...args, '--webhooks.allowedNetworks=127.0.0.0/8'] });
    pruneHeight = (await node.api.rpc<number>('pruneblockchain', [TIP - 288])) + 1;
    expect(pruneHeight).toBeGreaterThan(115);
    const watch = { kind: 'address', value: ADDRESS, confirmations: [1, THRESHOLD] };
    expect((await post(node.api, '/api/watches', watch)).status).toBe(200);
    const { items } = await pageBehind(0, 'types=newBlock&limit=1000');
    const cursorOf = (height: number) => items.find(({ data }) => data.height === height)!.data.cursor as string;
    // The cursor of an event alone is a position before what is derived from it.
    after = (await pageBehind(0, `types=newBlock&limit=${pruneHeight}`)).lastCursor;
    last = cursorOf(pruneHeight + LAST);
  });

  /** The messages up to the last one. The process that made the chain has left a gap of the mempool before them. */
  const short = (messages: readonly WsMessage[]) => {
    const end = messages.findIndex(({ data }) => data.cursor === last);
    const own = messages.slice(0, end + 1).filter(({ data }) => data.scope !== 'mempool');
    return own.map(({ type, data }) => ({ type, cursor: data.cursor, ...described(type, data) }));
  };
  const described = (type: string, data: WsMessage['data']) => {
    const { height, threshold, scope, reverted, confirmations } = data;
    return type === 'newBlock' ? { height } : { height, threshold, scope, reverted, confirmations };
  };

  /** The expected messages: behind each of the first blocks a gap in place of the confirmations of a pruned one. */
  const expected = () => {
    const messages: unknown[] = [];
    for (let height = pruneHeight; height <= pruneHeight + LAST; height++) {
      messages.push({ type: 'newBlock', height });
      if (height === pruneHeight + LAST) break;
      const confirmation = (at: number, threshold: number) =>
        messages.push({ type: 'confirmation', height: at, threshold, reverted: false, confirmations: threshold });
      confirmation(height, 1);
      const below = height - THRESHOLD + 1;
      if (below >= pruneHeight) confirmation(below, THRESHOLD);
      else messages.push({ type: 'gap', scope: 'confirmations', height: below, threshold: THRESHOLD, reverted: false });
    }
    return messages;
  };

  test('are a gap in its place, the same on a page, a WebSocket, a stream and in deliveries', async () => {
    const page = await pageBehind(after, `types=${TYPES}&limit=1000`);
    const messages = short(page.items);
    expect(messages).toMatchObject(expected() as object[]);
    expect(messages).toHaveLength(expected().length);
    expect(new Set(messages.map(({ cursor }) => cursor)).size).toBe(messages.length);

    const socket = await node.api.socket();
    socket.send({ type: 'subscribe', id: 1, data: { events: TYPES, replace: true, after } });
    await socket.until('the last event', ({ data }) => data.cursor === last);
    expect(short(socket.messages.filter(({ type }) => type !== 'ack'))).toEqual(messages);
    socket.close();

    const ended = new AbortController();
    const headers = { authorization: `Bearer ${node.api.key}`, 'last-event-id': after };
    const reply = await fetch(`${node.api.url}/api/stream?types=${TYPES}`, { headers, signal: ended.signal });
    let text = '';
    for await (const bytes of reply.body!) {
      text += Buffer.from(bytes).toString();
      if (text.includes(`id: ${last}\n`) && text.endsWith('\n\n')) break;
    }
    ended.abort();
    const streamed = [...text.matchAll(/^id: (.*)\nevent: (.*)\ndata: (.*)$/gm)].map(([, id, event, data]) => {
      const message = JSON.parse(data!) as WsMessage;
      expect([id, event]).toEqual([message.data.cursor as string, message.type]);
      return message;
    });
    expect(short(streamed)).toEqual(messages);

    using receiver = new WebhookReceiver();
    await post(node.api, '/api/webhooks', { url: receiver.url, types: TYPES, after, maxEvents: 3 });
    await receiver.until('the last event', () => receiver.messages.some(({ data }) => data.cursor === last));
    expect(short(receiver.messages)).toEqual(messages);
    for (const { headers: sent, events, cursor } of receiver.accepted)
      expect(sent['webhook-id']).toBe(`${events.at(-1)!.type === 'gap' ? 'gap-' : ''}${cursor}`);
  });

  test('are reported once: a client that resumes behind the cursor of the gap receives what follows', async () => {
    const { items } = await pageBehind(after, `types=${TYPES}&limit=1000`);
    for (const [i, { type, data }] of items.slice(0, 12).entries()) {
      const [next] = (await pageBehind(data.cursor as string, `types=${TYPES}&limit=1`)).items;
      expect(next).toMatchObject({ type: items[i + 1]!.type, data: { cursor: items[i + 1]!.data.cursor } });
      if (type === 'gap') expect(data).toMatchObject({ fromSeq: data.toSeq, toSeq: items[i - 1]!.data.seq });
    }
    // Pages behind a number never end within an event.
    const seen: unknown[] = [];
    for (let at = (items[0]!.data.seq as number) - 1; seen.length < 12; ) {
      const page = await pageBehind(at, `types=${TYPES}&limit=1`);
      seen.push(...page.items.map((item) => item.data.cursor));
      at = page.lastSeq;
    }
    expect(seen.slice(0, 12)).toEqual(items.slice(0, 12).map((item) => item.data.cursor));
  });

  test('are no gap for a client without this type, and none for thresholds that nothing watched has', async () => {
    const { items } = await pageBehind(after, 'types=newBlock,addressTransaction&limit=40');
    expect(items.filter(({ type }) => type === 'gap')).toEqual([]);
    const { key } = await node.api.rpc<{ key: string }>('createapikey', ['other', ['read']]);
    const other = await fetch(`${node.api.url}/api/events?after=${after}&types=${TYPES}&limit=40`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const page = (await other.json()) as Page;
    expect(new Set(page.items.map(({ type }) => type))).toEqual(new Set(['newBlock']));
  });

  test.each(['pages', 'websocket'] as const)(
    'make the TypeScript client reconcile its ledger (%s)',
    async (transport) => {
      const client = new ObverseClient({ url: node.api.url, key: TEST_KEY });
      const ledger = await Ledger.open(join(tempDir('ledger'), 'ledger.db'), THRESHOLD);
      ledger.addAddress(ADDRESS, 'alice');
      ledger.apply([], `${THRESHOLD}:${after}`);
      const ended = new AbortController();
      const reasons: string[] = [];
      const watching = watchDeposits(client, ledger, {
        signal: ended.signal,
        transport,
        onReconcile: (reason) => reasons.push(reason),
      });
      await poll('the ledger is reconciled', () => ledger.balance('alice') > 0);
      ended.abort();
      await watching;
      const height = pruneHeight - THRESHOLD + 1;
      expect(reasons).toEqual([`the block at the height ${height} is pruned: confirmations are missing`]);
    },
  );

  test.each(['pages', 'websocket'] as const)('make the Python client reconcile its ledger (%s)', async (transport) => {
    const program = `
import asyncio, logging, os, sys
from examples.ledger import Ledger
from obverse import ObverseClient, watch_deposits
logging.basicConfig(stream=sys.stdout, format="%(message)s")
async def main():
    ledger = Ledger(sys.argv[1], ${THRESHOLD})
    ledger.add_address("${ADDRESS}", "alice")
    ledger.apply([], "${THRESHOLD}:${after}")
    async with ObverseClient("${node.api.url}", os.environ["KEY"]) as client:
        watching = asyncio.create_task(watch_deposits(client, ledger, "${transport}"))
        while not watching.done() and ledger.balance("alice") == 0:
            await asyncio.sleep(0.05)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
asyncio.run(main())
`;
    const { exited, stdout, stderr } = Bun.spawn(
      [requirePython(), '-c', program, join(tempDir('ledger'), 'ledger.db')],
      {
        cwd: PYTHON,
        env: { ...process.env, KEY: TEST_KEY },
        stdout: 'pipe',
        stderr: 'pipe',
      },
    );
    const [code, out, errors] = await Promise.all([exited, new Response(stdout).text(), new Response(stderr).text()]);
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    const height = pruneHeight - THRESHOLD + 1;
    expect(out).toBe(
      `the ledger is compared with the chain: the block at the height ${height} is pruned: confirmations are missing\n`,
    );
  });
});
