import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/load.ts';
import { Node } from '../../src/node/node.ts';
import { type Transaction, transactionBytes, txidOf } from '../../src/primitives/transaction.ts';
import { stderrLog } from '../../src/util/log.ts';
import { chainWithCoins, type RegtestChain } from '../lib/chain-builder.ts';
import { type Payee, spend } from '../lib/tx-builder.ts';
import { grouped, percentile, printTable } from './report.ts';

const COINS_PER_BLOCK = 10_000;
const COUNT = 7000;
const ROUNDS = 3;

/** Connects blocks of ordinary spends with all indexes: such as the mempool has, and such as it has not, in turns. */
export async function benchBlock(count = COUNT): Promise<void> {
  const blocks = Math.ceil((2 * ROUNDS * count) / COINS_PER_BLOCK);
  const chain = chainWithCoins(blocks, 'anyone');
  const txs = spends(chain, blocks);
  const dir = mkdtempSync(join(tmpdir(), 'obverse-bench-'));
  const args = ['--network', 'regtest', '--datadir', dir, '--p2p.enabled=false', '--wallet.enabled=false'];
  const { config } = loadConfig(args);
  const node = new Node(config, { log: stderrLog({ ...config.log, level: 'error' }) });
  try {
    // The last one is of now, so that the node is in sync and commits every block.
    let time = Math.floor(Date.now() / 1000);
    chain.mine(1, { time });
    for (const { raw } of chain.blocks.slice(1)) await node.chain.submit(raw);
    await node.loadMempool(new AbortController().signal);
    const times = { seen: [] as number[], unseen: [] as number[] };
    for (let round = 0; round < ROUNDS; round++)
      for (const kind of ['seen', 'unseen'] as const) {
        const own = txs.splice(0, count);
        if (kind === 'seen')
          for (const tx of own) {
            const result = await node.mempool.broadcast(transactionBytes(tx), { maxFeerate: null, maxBurn: 0 });
            if (result.status !== 'accepted') throw new Error('a good transaction was refused');
          }
        const { raw } = chain.mine(1, { time: ++time, txs: own });
        const startedAt = performance.now();
        if ((await node.chain.submit(raw)).status !== 'accepted') throw new Error('a good block was refused');
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

/** Spends of all coins that the next blocks make. */
function spends(chain: RegtestChain, blocks: number): Transaction[] {
  const txs: Transaction[] = [];
  for (let i = 0; i < blocks; i++) {
    const payees = Array.from({ length: COINS_PER_BLOCK }, (): Payee => ({ to: 'p2wpkh', value: 100_000n }));
    const split = spend(chain.coin(i + 1), payees);
    const txid = txidOf(split);
    chain.mine(1, { txs: [split] });
    for (const [vout, output] of split.outputs.entries())
      txs.push(
        spend({ outpoint: { txid, vout }, output }, [
          { to: 'p2wpkh', value: 50_000n },
          { to: 'p2wpkh', value: 49_000n },
        ]),
      );
  }
  return txs;
}
