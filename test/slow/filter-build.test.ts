import { Database } from 'bun:sqlite';
import { expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import { ChainReads } from '../../src/storage/chain-reads.ts';
import { directoryWith } from '../lib/chain-directory.ts';
import { FilterModel, type ModelFilter } from '../lib/filter-model.ts';
import { cleanUpAfterTests, copyDatadir, NodeProcess } from '../lib/node-process.ts';
import { recentChain } from '../lib/sample-chains.ts';

setDefaultTimeout(600_000);

cleanUpAfterTests();

function written(datadir: string): number {
  const db = new Database(join(datadir, 'regtest/chain/chain.db'), { readonly: true });
  try {
    return db.query<{ n: number }, []>('SELECT count(*) AS n FROM filters').get()!.n;
  } finally {
    db.close();
  }
}

/** Checks a copy of the directory of a killed node: its filters have no gap from genesis, and all are right. */
function check(datadir: string, model: readonly ModelFilter[]): number {
  const reads = new ChainReads(join(copyDatadir(datadir), 'regtest/chain'));
  try {
    const covered = reads.filters.coveredHeight(reads.tip().height);
    for (const [height, expected] of model.entries()) {
      const record = reads.filters.get(reads.headers.byHeight(height)!.id);
      if (height > covered) expect(record).toBeNull();
      else {
        expect(reads.filters.bytes(record!).toHex()).toBe(expected.filter);
        expect(record!.header.toReversed().toHex()).toBe(expected.header);
      }
    }
    return covered;
  } finally {
    reads.close();
  }
}

test('filters are complete after kill -9 during their build in the background', async () => {
  const chain = recentChain(3000, { payments: 60 });
  const model = new FilterModel(chain.blocks.map(({ raw }) => raw)).filters;
  const datadir = await directoryWith(chain);
  const reached: number[] = [];
  let covered = -1;
  for (let kills = 0; kills < 12 && covered < chain.height; kills++) {
    const node = new NodeProcess({ datadir, args: ['--index.filter'] });
    // Some signals come soon after a write, others just before one.
    const before = written(datadir);
    await node.until('filters', () => written(datadir) > before, 60_000, 1);
    await Bun.sleep((kills % 4) * 150);
    await node.stop('SIGKILL');
    const now = check(datadir, model);
    expect(now).toBeGreaterThan(covered);
    covered = now;
    reached.push(covered);
  }
  console.info(`killed at heights ${reached.join(' ')}`);
  expect(reached[0]!).toBeLessThan(chain.height);
  const node = await new NodeProcess({ datadir, args: ['--index.filter'] }).ready();
  await node.until('the index', async () => {
    const info = await node.api.rpc<Record<string, { synced: boolean }>>('getindexinfo');
    return info['basic block filter index']!.synced;
  });
  await node.stop();
  expect(check(datadir, model)).toBe(chain.height);
}, 300_000);
