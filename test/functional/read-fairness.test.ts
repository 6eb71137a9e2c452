import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { issueKey } from '../../src/api/auth/issue-key.ts';
import { AuthStore } from '../../src/storage/auth-store.ts';
import { ordinarySpends } from '../bench/spends.ts';
import { chainWithCoins } from '../lib/chain-builder.ts';
import { ApiClient } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess, startNode } from '../lib/node-process.ts';
import { directoryWith, tipOf } from '../lib/peer-node.ts';

cleanUpAfterTests();

const HOSTILE_CONNECTIONS = 100;
const TRANSACTIONS = 300;
const ANSWERS = 8;
const DESCRIPTOR =
  'wpkh(tpubD6NzVbkrYhZ4WaWSyoBvQwbpLkojyoTZPRsgXELWz3Popb3qkjcJyJUGLnL4qHHoQvao8ESaAstxYSnhyswJ76uZPStJRJCTKvosUCJZL5B/0/*)';

async function keys(node: NodeProcess): Promise<[string, string]> {
  const store = new AuthStore(join(node.networkDir, 'auth.db'));
  const [first, second] = ['first', 'second'].map((label) => issueKey(store, { label, scopes: ['read'] }, 1).key);
  store.close();
  const isKnown = async () => (await new ApiClient(node.api.url, second!).request('/api/blocks/tip')).status === 200;
  await node.until('the keys', isKnown, 10_000, 500);
  return [first!, second!];
}

test('one read key with many requests leaves its turn to another', async () => {
  const chain = chainWithCoins(1, 'anyone');
  chain.mine(1, { txs: ordinarySpends(chain, TRANSACTIONS, () => 1000n) });
  const node = await startNode({ datadir: await directoryWith(chain), args: ['--wallet.enabled=false'] });
  const hash = await tipOf(node);
  const [first, second] = await keys(node);
  const ended = new AbortController();
  let asked = 0;
  const page = (key: string, limit: number) =>
    fetch(`${node.api.url}/api/block/${hash}/txs?limit=${limit}`, {
      headers: { authorization: `Bearer ${key}`, 'accept-encoding': 'identity' },
      signal: ended.signal,
    });
  const statuses = new Map<number, number>();
  const hostile = async () => {
    while (!ended.signal.aborted) {
      const response = await page(first, 100 + (asked++ % 200));
      await response.arrayBuffer();
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    }
  };
  const hostiles = Array.from({ length: HOSTILE_CONNECTIONS }, () => hostile().catch(() => {}));
  await node.until('a refusal', () => statuses.has(429), 20_000);
  const answers: number[] = [];
  for (let i = 0; i < ANSWERS; i++) {
    const response = await page(second, 101 + 20 * i);
    await response.arrayBuffer();
    answers.push(response.status);
  }
  ended.abort();
  await Promise.all(hostiles);
  expect(answers).toEqual(new Array(ANSWERS).fill(200));
  expect([...statuses.keys()].sort()).toEqual([200, 429]);

  const left = new AbortController();
  const rpc = (key: string, method: string, params: unknown[], signal = AbortSignal.timeout(30_000)) =>
    fetch(node.api.url, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ id: 1, method, params }),
      signal,
    }).then((response) => response.json() as Promise<{ result: { descriptor: string; success: boolean } }>);
  const { descriptor } = (await rpc(second, 'getdescriptorinfo', [DESCRIPTOR])).result;
  const endless = Array.from({ length: 4 }, () =>
    rpc(first, 'scantxoutset', ['start', [{ desc: descriptor, range: 999_999 }]], left.signal).catch(() => {}),
  );
  const short = await rpc(second, 'scantxoutset', ['start', [{ desc: descriptor, range: 10 }]]);
  expect(short.result.success).toBe(true);
  left.abort();
  await Promise.all(endless);
  await node.stop();
});
