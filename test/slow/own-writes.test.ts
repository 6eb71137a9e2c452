import { describe, expect, test } from 'bun:test';
import { FrontConnection } from '../lib/front-connection.ts';
import { cleanUpAfterTests, startNode, TEST_KEY, WITH_WALLET } from '../lib/node-process.ts';
import { MINING_ADDRESS } from '../lib/peer-node.ts';

cleanUpAfterTests();

/** `OWN_WRITES=500` takes about ten times as long. */
const WITHDRAWALS = Number(process.env.OWN_WRITES ?? 60);
/** Payments between two blocks, below the limit of a cluster. */
const PAYMENTS_OF_A_BLOCK = 20;

interface Details {
  readonly items: readonly { readonly txid: string }[];
}

describe('a withdrawal', () => {
  for (const count of [1, 2])
    test(`is found by POST /api/txs/details right after its reply, with workers.front = ${count}`, async () => {
      const { api } = await startNode({ args: [`--workers.front=${count}`, WITH_WALLET] });
      const own = await api.rpc<string>('getnewaddress');
      await api.rpc('generatetoaddress', [120, own]);
      const fronts = await FrontConnection.toEach(api.url, count);
      expect(new Set(fronts.map(({ front }) => front)).size).toBe(count);
      const unseen: string[] = [];
      for (let i = 0; i < WITHDRAWALS; i++) {
        if (i % PAYMENTS_OF_A_BLOCK === 0) await api.rpc('generatetoaddress', [1, own]);
        // Each front takes withdrawals, and every front reads at once.
        const writer = fronts[i % count]!;
        const txid = await writer.rpc<string>(TEST_KEY, 'sendtoaddress', [MINING_ADDRESS, 0.01]);
        const reads = fronts.map(async (reader) => {
          const { items } = await reader.json<Details>('POST', '/api/txs/details', TEST_KEY, { txids: [txid] });
          if (items[0]?.txid !== txid) unseen.push(`withdrawal ${i} of ${writer.front}, read on ${reader.front}`);
        });
        await Promise.all(reads);
      }
      expect(unseen).toEqual([]);
      for (const front of fronts) front.close();
    }, 180_000);
});
