import { describe, expect, test } from 'bun:test';
import { cleanUpAfterTests, startNode, WITH_WALLET } from '../lib/node-process.ts';
import { MINING_ADDRESS } from '../lib/peer-node.ts';

cleanUpAfterTests();

const WITHDRAWALS = 500;
/** Payments between two blocks, below the limit of a cluster. */
const PAYMENTS_OF_A_BLOCK = 20;

interface Details {
  readonly items: readonly { readonly txid: string }[];
  readonly missing?: readonly string[];
}

describe('a withdrawal', () => {
  for (const fronts of [1, 2])
    test(`is found by POST /api/txs/details right after its reply, with workers.front = ${fronts}`, async () => {
      const node = await startNode({ args: [`--workers.front=${fronts}`, WITH_WALLET] });
      const { api } = node;
      const own = await api.rpc<string>('getnewaddress');
      await api.rpc('generatetoaddress', [120, own]);
      const unseen: number[] = [];
      for (let i = 0; i < WITHDRAWALS; i++) {
        if (i % PAYMENTS_OF_A_BLOCK === 0) await api.rpc('generatetoaddress', [1, own]);
        const txid = await api.rpc<string>('sendtoaddress', [MINING_ADDRESS, 0.01]);
        // Several connections at once, which the system spreads over the fronts.
        const replies = await Promise.all(
          [0, 1].map(async () => {
            const headers = { connection: 'close' };
            const sent = { method: 'POST', body: JSON.stringify({ txids: [txid] }), headers };
            return (await api.request<Details>('/api/txs/details', sent)).body;
          }),
        );
        if (!replies.every(({ items }) => items[0]?.txid === txid)) unseen.push(i);
      }
      expect(unseen).toEqual([]);
    }, 180_000);
});
