import { expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { CoinRewind, MissingBlockData } from '../../src/storage/coin-rewind.ts';
import { coinsOfRuns, type PlacedCoin } from '../../src/storage/coin-store.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { recentChain } from '../lib/sample-chains.ts';

const text = ({ outpoint, position, output }: PlacedCoin) =>
  `${outpoint.txid.toHex()}:${outpoint.vout} ${position} ${output.value} ${output.scriptPubKey.toHex()}`;

/** All coins of a node at its tip. */
const coinsAt = (node: TestNode) => node.read(({ coins }) => [...coins.all()].map(text));

test('undo data leads back to the coins of every earlier block, in memory and through many runs', async () => {
  const chain = recentChain(120, { payments: 9 });
  await using node = new TestNode();
  await using full = new TestNode();
  await full.take(chain.blocks.slice(1));
  const tip = coinsAt(full);
  for (const height of [0, 99, 101, 110, 120]) {
    await node.take(chain.blocks.slice(1, height + 1));
    const expected = coinsAt(node);
    // A limit of one byte makes a run of each block, so that runs are merged.
    for (const limit of [1, 1 << 20])
      full.read((reads) => {
        const rewind = new CoinRewind(reads, limit);
        const runs = reads.openCoinRuns();
        let checkpoints = 0;
        rewind.rewind(reads.tip(), reads.headers.byHeight(height)!, () => void checkpoints++);
        expect([...coinsOfRuns([...rewind.runs, ...runs])].map(text)).toEqual(expected);
        expect(checkpoints).toBe(120 - height);
        rewind.close();
        for (const run of runs) run.close();
      });
  }
  expect(coinsAt(full)).toEqual(tip);
  expect(readdirSync(join(full.dir, 'runs')).filter((name) => name.startsWith('scratch'))).toEqual([]);
});

test('a block without undo data ends the work, and runs of an interrupted one go with the next start', async () => {
  const chain = recentChain(110, { payments: 2 });
  await using node = new TestNode();
  await node.take(chain.blocks.slice(1, 110));
  const names = () => readdirSync(join(node.dir, 'runs')).filter((name) => name.startsWith('scratch'));
  node.read((reads) => {
    const record = reads.tip();
    const rewind = new CoinRewind(reads, 1);
    const target = reads.headers.byHeight(100)!;
    expect(() => rewind.rewind({ ...record, undo: null }, target, () => {})).toThrow(MissingBlockData);
    let left = 4;
    const interrupted = () => {
      if (--left === 0) throw new Error('interrupted');
    };
    expect(() => rewind.rewind(record, target, interrupted)).toThrow('interrupted');
  });
  expect(names().length).toBeGreaterThan(0);
  await node.restart();
  expect(names()).toEqual([]);
});
