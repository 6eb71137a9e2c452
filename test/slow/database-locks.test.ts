import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { cleanUpAfterTests, type NodeProcess, startNode, WITH_WALLET } from '../lib/node-process.ts';
import { rpcError } from '../lib/peer-node.ts';

cleanUpAfterTests();

async function busyOf(node: NodeProcess, db: string): Promise<number> {
  const { text } = await node.api.request<string>('/metrics');
  return Number(new RegExp(`^obverse_db_busy_total\\{db="${db}"\\} (\\d+)$`, 'm').exec(text)![1]);
}

/** Runs `work` while another connection holds the lock of a database. */
async function whileLocked(path: string, work: () => Promise<void>): Promise<void> {
  const other = new Database(path);
  other.run('BEGIN IMMEDIATE');
  try {
    await work();
  } finally {
    other.run('ROLLBACK');
    other.close();
  }
}

test('a database that another program keeps locked is counted in the metrics', async () => {
  const node = await startNode({ args: [WITH_WALLET] });
  for (const db of ['chain', 'node', 'auth', 'wallet', 'watches', 'webhooks'])
    expect([db, await busyOf(node, db)]).toEqual([db, 0]);
  const wallet = join(node.networkDir, 'wallets', 'default.db');
  await whileLocked(wallet, async () => {
    expect((await rpcError(node, 'getnewaddress', [])).code).toBeLessThan(0);
  });
  // The counters of the node thread are reported each second.
  await node.until('the wallet is counted', async () => (await busyOf(node, 'wallet')) === 1);
  expect(await node.api.rpc<string>('getnewaddress')).toStartWith('bcrt1');
  await whileLocked(join(node.networkDir, 'auth.db'), async () => {
    expect((await rpcError(node, 'createapikey', ['a', ['read']])).code).toBeLessThan(0);
  });
  await node.until('auth.db is counted', async () => (await busyOf(node, 'auth')) >= 1);
  expect(await busyOf(node, 'chain')).toBe(0);
}, 120_000);
