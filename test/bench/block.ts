import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/load.ts';
import { Node } from '../../src/node/node.ts';
import { transactionBytes } from '../../src/primitives/transaction.ts';
import { processLog } from '../../src/util/process-log.ts';
import { chainWithCoins } from '../lib/chain-builder.ts';
import { grouped, percentile, printTable } from './report.ts';
import { COINS_PER_BLOCK, ordinarySpends } from './spends.ts';

const COUNT = 7000;
const ROUNDS = 3;

/** Connects blocks of ordinary spends with all indexes: such as the mempool has, and such as it has not, in turns. */
export async function benchBlock(count = COUNT): Promise<void> {
  const blocks = Math.ceil((2 * ROUNDS * count) / COINS_PER_BLOCK);
  const chain = chainWithCoins(blocks, 'anyone');
  const txs = ordinarySpends(chain, 2 * ROUNDS * count, () => 1000n);
  const dir = mkdtempSync(join(tmpdir(), 'obverse-bench-'));
  const args = ['--network', 'regtest', '--datadir', dir, '--p2p.enabled=false', '--wallet.enabled=false'];
  const { config } = loadConfig(args);
  const node = await Node.open(config, { log: processLog({ ...config.log, level: 'error' }) });
  try {
    // The last block is recent, so that the node is in sync and commits every block.
    let time = Math.floor(Date.now() / 1000);
    chain.mine(1, { time });
    for (const { raw } of chain.blocks.slice(1)) await node.chain.submitBlock(raw);
    await node.loadMempool(new AbortController().signal);
    const times = { seen: [] as number[], unseen: [] as number[] };
    for (let round = 0; round < ROUNDS; round++)
      for (const kind of ['seen', 'unseen'] as const) {
        const own = txs.splice(0, count);
        if (kind === 'seen')
          for (const tx of own) {
            const result = await node.mempool.submissions.broadcast(transactionBytes(tx), {
              maxFeerate: null,
              maxBurn: 0,
            });
            if (result.status !== 'accepted') throw new Error('a good transaction was refused');
          }
        const { raw } = chain.mine(1, { time: ++time, txs: own });
        const startedAt = performance.now();
        if ((await node.chain.submitBlock(raw)).status !== 'accepted') throw new Error('a good block was refused');
        times[kind].push(performance.now() - startedAt);
      }
    const row = (label: string, all: number[]): [string, string] => {
      const sorted = all.toSorted((a, b) => a - b);
      return [label, `${grouped(percentile(sorted, 0.5))}  (${grouped(sorted[0]!)} to ${grouped(sorted.at(-1)!)})`];
    };
    printTable(`a block of ${grouped(count)} spends of one input and two outputs, ms`, [
      row('all in the mempool', times.seen),
      row('none seen before', times.unseen),
    ]);
  } finally {
    await node.close();
    rmSync(dir, { recursive: true, force: true });
  }
}
