import { expect, test } from 'bun:test';
import { chainWithCoins } from '../lib/chain-builder.ts';
import { directoryWith } from '../lib/chain-directory.ts';
import { cleanUpAfterTests, startNode } from '../lib/node-process.ts';
import { percentile, readBesideFlood, twoKeys } from '../proof/fair-reads.ts';

cleanUpAfterTests();

const TRANSACTIONS = 300;
const ANSWERS = 26;
const DESCRIPTOR =
  'wpkh(tpubD6NzVbkrYhZ4WaWSyoBvQwbpLkojyoTZPRsgXELWz3Popb3qkjcJyJUGLnL4qHHoQvao8ESaAstxYSnhyswJ76uZPStJRJCTKvosUCJZL5B/0/*)';

test('many requests of one read key do not hold up those of another', async () => {
  const { statuses, pages, hostile } = await readBesideFlood(TRANSACTIONS, ANSWERS, new AbortController().signal);
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(statuses.length).toBeGreaterThanOrEqual(ANSWERS);
  expect(percentile(pages, 0.5)).toBeLessThan(1000);
  // On a busy machine none of its long reads may have ended yet.
  expect(Object.keys(hostile.statuses)).toContain('429');
  expect(['200', '429']).toEqual(expect.arrayContaining(Object.keys(hostile.statuses)));
});

test('endless scans of one key leave a thread for a short one of another', async () => {
  const chain = chainWithCoins(1, 'anyone');
  const node = await startNode({ datadir: await directoryWith(chain), args: ['--wallet.enabled=false'] });
  const [first, second] = await twoKeys(node);
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
