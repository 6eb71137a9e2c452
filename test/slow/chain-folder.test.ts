import { expect, test } from 'bun:test';
import { cpSync, existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiClient, ErrorBody, Info } from '../lib/node-client.ts';
import { cleanUpAfterTests, startNode, tempDir } from '../lib/node-process.ts';
import { MINING_ADDRESS } from '../lib/peer-node.ts';

cleanUpAfterTests();

const ARGS = ['--wallet.keypool=10'];

interface EventPage {
  readonly items: readonly { readonly type: string; readonly data: { readonly seq?: number } }[];
  readonly lastSeq: number;
  readonly lastCursor: string;
  readonly gap: object | null;
}

/** State of the wallet as its methods report it; entries that compare equal are in any order. */
async function walletState(api: ApiClient) {
  const [balances, unspent, history] = await Promise.all([
    api.rpc<{ mine: unknown }>('getbalances'),
    api.rpc<{ txid: string; vout: number; confirmations: number }[]>('listunspent', [0]),
    api.rpc<{ txid: string; category: string; amount: number; confirmations: number }[]>('listtransactions', [
      '*',
      1000,
    ]),
  ]);
  return {
    balances: balances.mine,
    unspent: unspent.map(({ txid, vout, confirmations }) => `${txid}:${vout} ${confirmations}`).sort(),
    history: history.map((tx) => `${tx.txid} ${tx.category} ${tx.amount} ${tx.confirmations}`).sort(),
  };
}

async function eventsAfter(api: ApiClient, after: number): Promise<EventPage> {
  return api.json<EventPage>(`/api/events?after=${after}&limit=1000`);
}

test('a removed chain folder is synced again: the wallet is as before, and no event number is used twice', async () => {
  let node = await startNode({ args: ARGS });
  const { api, networkDir, datadir } = node;
  const own = await api.rpc<string>('getnewaddress');
  await api.rpc('generatetoaddress', [3, own]);
  await api.rpc('generatetoaddress', [100, MINING_ADDRESS]);
  for (const amount of [1, 2]) await api.rpc('sendtoaddress', [MINING_ADDRESS, amount]);
  await api.rpc('generatetoaddress', [2, MINING_ADDRESS]);
  const before = await walletState(api);
  const info = await api.json<Info>('/api/info');
  const { lastSeq, lastCursor } = await eventsAfter(api, 0);
  expect(lastSeq).toBeGreaterThan(100);
  await node.stop();

  expect(readdirSync(networkDir).filter((name) => /^(blocks|filters|chain\.db.*)$/.test(name))).toEqual([]);
  const blocks = join(tempDir(), 'blk00000.dat');
  cpSync(join(networkDir, 'chain/blocks/blk00000.dat'), blocks);
  rmSync(join(networkDir, 'chain'), { recursive: true });

  node = await startNode({ datadir, args: [...ARGS, '--import', blocks] });
  await node.height(info.height);
  expect((await node.api.json<Info>('/api/info')).bestBlockHash).toBe(info.bestBlockHash);
  await node.until('the wallet', async () => {
    const { lastprocessedblock } = await node.api.rpc<{ lastprocessedblock: { height: number } }>('getwalletinfo');
    return lastprocessedblock.height === info.height;
  });
  expect(await walletState(node.api)).toEqual(before);

  // Blocks that are connected again have new numbers, behind a gap that names every lost number.
  const { items, gap } = await eventsAfter(node.api, lastSeq);
  expect(gap).toMatchObject({ scope: 'all', fromSeq: lastSeq + 1, toSeq: items[0]!.data.seq! - 1 });
  expect(items.length).toBeGreaterThan(100);
  for (const { data } of items) expect(data.seq!).toBeGreaterThan(lastSeq);
  // A cursor belongs to one log alone, and never resumes silently in another.
  const stale = await node.api.request<ErrorBody>(`/api/events?after=${lastCursor}`);
  expect([stale.status, stale.body.error.code]).toEqual([400, 'invalid_cursor']);
  await node.stop();
}, 180_000);

test('a data directory of the old layout is moved at the start', async () => {
  let node = await startNode();
  const { datadir, networkDir } = node;
  await node.api.rpc('generatetoaddress', [5, MINING_ADDRESS]);
  const { bestBlockHash } = await node.api.json<Info>('/api/info');
  await node.stop();
  for (const name of readdirSync(join(networkDir, 'chain')))
    renameSync(join(networkDir, 'chain', name), join(networkDir, name));
  rmSync(join(networkDir, 'chain'), { recursive: true });

  node = await startNode({ datadir });
  expect(await node.api.json<Info>('/api/info')).toMatchObject({ height: 5, bestBlockHash });
  expect(existsSync(join(networkDir, 'chain.db'))).toBe(false);
  expect(existsSync(join(networkDir, 'chain/blocks/blk00000.dat'))).toBe(true);
  await node.stop();
});
