import { beforeAll, describe, expect, test } from 'bun:test';
import { regtest } from '../../src/params/regtest.ts';
import { addressOf } from '../../src/script/address.ts';
import { type CliResult, runCli } from '../cli/run-cli.ts';
import type { Info } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess, startNode, TEST_KEY, tempDir } from '../lib/node-process.ts';
import { lockOf } from '../lib/tx-builder.ts';

cleanUpAfterTests();

/** The first blocks, and then none until one is asked for. */
const DEV = ['--dev', '--dev.interval=86400'];
const ADDRESS = addressOf(lockOf('p2wpkh').scriptPubKey, regtest.address)!;

interface Reorg {
  readonly forkHeight: number;
  readonly disconnected: readonly string[];
  readonly connected: readonly string[];
}

interface Event {
  readonly type: string;
  readonly data: Record<string, unknown> & { readonly seq: number };
}

let node: NodeProcess;
beforeAll(async () => {
  node = await startNode({ args: DEV });
  await node.height(110);
  await node.until('the first payments', async () => (await mempool()).length > 2);
});

const listen = () => `--http.listen=${new URL(node.api.url).host}`;
const mempool = () => node.api.rpc<string[]>('getrawmempool');
const txsOf = async (hash: string) => (await node.api.rpc<{ tx: string[] }>('getblock', [hash])).tx;
const tip = () => node.api.rpc<string>('getbestblockhash');

function dev(...args: string[]): Promise<CliResult> {
  return runCli(['dev', ...args, listen()], { OBVERSE_API_KEY: TEST_KEY });
}

async function played<T>(...args: string[]): Promise<T> {
  const { status, stdout, stderr } = await dev(...args);
  expect([status, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as T;
}

/** Returns the result of a scenario and the events that it caused. */
async function eventsOf<T>(play: () => Promise<T>): Promise<{ result: T; events: readonly Event[] }> {
  const { lastSeq } = await node.api.json<{ lastSeq: number }>('/api/events');
  const result = await play();
  const types = 'newBlock,blockDisconnected,reorg,newTransaction,transactionRemoved';
  const { items } = await node.api.json<{ items: Event[] }>(`/api/events?after=${lastSeq}&types=${types}&limit=1000`);
  return { result, events: items };
}

describe('a reorg', () => {
  test('leaves transactions of the old branch in the mempool', async () => {
    const [mined] = await node.api.rpc<string[]>('generatetoaddress', [1, ADDRESS]);
    const waiting = (await txsOf(mined!)).slice(1);
    expect(waiting.length).toBeGreaterThan(2);
    const { result, events } = await eventsOf(() => played<Reorg>('reorg', '2'));
    expect(result).toMatchObject({ forkHeight: 109 });
    expect(result.disconnected).toHaveLength(2);
    expect(result.disconnected[1]).toBe(mined!);
    expect(result.connected).toHaveLength(3);
    expect(await tip()).toBe(result.connected[2]!);
    // The sandbox may have made further payments.
    expect(await mempool()).toEqual(expect.arrayContaining(waiting));
    const reorgs = events.filter(({ type }) => type === 'reorg');
    expect(reorgs.map(({ data }) => data)).toMatchObject([{ forkHeight: 109, depth: 2 }]);
    expect(reorgs[0]!.data.txs).toEqual(
      expect.arrayContaining(waiting.map((txid) => expect.objectContaining({ txid, fate: 'mempool' }))),
    );
  });

  test('includes the same transactions in the new blocks', async () => {
    const [mined] = await node.api.rpc<string[]>('generatetoaddress', [1, ADDRESS]);
    const waiting = (await txsOf(mined!)).slice(1);
    expect(waiting.length).toBeGreaterThan(2);
    const { result, events } = await eventsOf(() => played<Reorg>('reorg', '--reconfirm'));
    expect([result.disconnected.length, result.connected.length]).toEqual([1, 2]);
    expect((await txsOf(result.connected[0]!)).slice(1)).toEqual(waiting);
    const [reorg] = events.filter(({ type }) => type === 'reorg');
    const fates = (reorg!.data.txs as { txid: string; fate: string }[]).filter(({ txid }) => waiting.includes(txid));
    expect(new Set(fates.map(({ fate }) => fate))).toEqual(new Set(['reconfirmed']));
  });
});

interface DoubleSpend {
  readonly txid: string;
  readonly conflict: string;
  readonly blockHash: string | null;
  readonly reorg: Reorg | null;
}

describe('a double spend', () => {
  test('replaces a payment in the mempool', async () => {
    const { result, events } = await eventsOf(() =>
      played<DoubleSpend>('doublespend', '--to', ADDRESS, '--amount=0.25'),
    );
    const { txid, conflict } = result;
    expect(result).toMatchObject({ blockHash: null, reorg: null });
    const inMempool = await mempool();
    expect([inMempool.includes(txid), inMempool.includes(conflict)]).toEqual([false, true]);
    const removed = events.filter(({ type }) => type === 'transactionRemoved');
    expect(removed.map(({ data }) => data)).toMatchObject([{ txid, reason: 'replaced', replacedBy: conflict }]);
  });

  test('replaces a confirmed payment', async () => {
    const before = await balance();
    const { result, events } = await eventsOf(() =>
      played<DoubleSpend>('doublespend', '--to', ADDRESS, '--confirmations', '2'),
    );
    const { txid, conflict, reorg } = result;
    expect(reorg!.disconnected[0]).toBe(result.blockHash!);
    expect([reorg!.disconnected.length, reorg!.connected.length]).toEqual([2, 3]);
    const [reorgEvent] = events.filter(({ type }) => type === 'reorg');
    expect(reorgEvent!.data.txs).toContainEqual({ txid, fate: 'conflicted', conflict, outputs: expect.any(Array) });
    expect(await node.api.rpc<object>('getblock', [reorg!.connected[0]!])).toMatchObject({
      tx: expect.arrayContaining([conflict]),
    });
    expect(await mempool()).not.toContain(txid);
    expect(await balance()).toBe(before);
  });
});

async function balance(): Promise<number> {
  return (await node.api.json<{ total: number }>(`/api/balance/${ADDRESS}`)).total;
}

test('a payment and a flood of them are played', async () => {
  const before = await balance();
  const txid = await played<string>('pay', ADDRESS, '1.5');
  expect(await mempool()).toContain(txid);
  expect(await balance()).toBe(before + 150_000_000);
  const txids = await played<string[]>('flood', '300', '--to', ADDRESS);
  expect(new Set(txids).size).toBe(300);
  const waiting = new Set(await mempool());
  expect(txids.filter((id) => !waiting.has(id))).toEqual([]);
  expect(await balance()).toBe(before + 150_000_000 + 300 * 25_000);
});

test('an impossible scenario is refused, and changes nothing', async () => {
  const before = await tip();
  const { height } = await node.api.json<Info>('/api/info');
  const deep = 'a reorg must be 1 to 100 blocks deep, and no deeper than the chain\n';
  const cases: [string[], string][] = [
    [['reorg', '101'], deep],
    [['reorg', '0'], deep],
    [['pay', 'nowhere'], 'Invalid address\n'],
    [['pay', ADDRESS, '20000000'], 'the sandbox has '],
    [['flood', '5001'], '1 to 5000 transactions are allowed\n'],
    [['reorg', 'x'], 'depth is a whole number, not x'],
    [['reorg', '1', '2'], 'dev reorg does not take 2'],
    [['pay'], 'dev pay needs address'],
    [['doublespent'], 'did you mean doublespend?'],
    [['doublespend', '--to'], '--to needs a value'],
  ];
  for (const [args, message] of cases) {
    const { status, stderr } = await dev(...args);
    expect([args, status === 0, stderr]).toEqual([args, false, expect.stringContaining(message)]);
  }
  expect(await tip()).toBe(before);
  expect((await node.api.json<Info>('/api/info')).height).toBe(height);
});

test('the cookie file replaces a key, and one of them is required', async () => {
  const datadir = tempDir();
  const other = await startNode({ datadir, args: DEV });
  await other.height(110);
  const args = ['dev', 'reorg', `--datadir=${datadir}`, `--http.listen=${new URL(other.api.url).host}`];
  expect(await runCli(args)).toMatchObject({ status: 0, stderr: '' });
  await other.stop();
  const { status, stderr } = await runCli(args);
  expect([status === 0, stderr]).toEqual([false, expect.stringContaining('no node runs on')]);
});

test('scenarios are refused without developer mode', async () => {
  const plain = await startNode({});
  for (const [method, ...params] of [['devreorg'], ['devpay', ADDRESS], ['devdoublespend'], ['devflood', 5]] as const)
    await expect(plain.api.rpc(method, params)).rejects.toThrow(
      'this call requires developer mode (obverse start --dev)',
    );
});
