import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ChainReads } from '../../src/storage/chain-reads.ts';
import type { ScriptKey } from '../../src/storage/script-store.ts';
import { grouped, percentile, printGrid } from './report.ts';
import { commitBlocks } from './rows/block-commits.ts';
import { fillDirectory, RowsModel } from './rows/fill.ts';
import { PageCache } from './rows/page-cache.ts';

const READS = 400;
const BLOCKS = 40;
const PAGE = 25;

/** `ask` reads what belongs to a number below that of transactions, which is chosen at random. */
type Question = readonly [name: string, ask: (reads: ChainReads, model: RowsModel, chosen: number) => unknown];

const QUESTIONS: readonly Question[] = [
  ['transaction by txid', findTransaction],
  ['address of 3 transactions', findHistory],
  ['page of an address with 100,000', (reads, model) => findHistory(reads, model, model.txs)],
];

/**
 * Fills the storage with so many millions of transactions, each with an unspent output, and three rows of history for
 * each; prints how long look-ups and the commit of a block take, with and without the files in the page cache.
 */
export async function benchRows(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      millions: { type: 'string', default: '1,10' },
      dir: { type: 'string' },
      prepare: { type: 'boolean', default: false },
    },
  });
  const lines: string[][] = [];
  const disk: string[][] = [];
  for (const millions of values.millions.split(',').map(Number)) {
    const dir = values.dir ? join(values.dir, `${millions}`) : mkdtempSync(join(tmpdir(), 'obverse-rows-'));
    try {
      const model = new RowsModel(millions * 1_000_000);
      const started = performance.now();
      if (!existsSync(join(dir, 'chain.db'))) {
        fillDirectory(dir, model);
        console.log(`${millions} million transactions: filled in ${grouped((performance.now() - started) / 1000)} s`);
      }
      if (values.prepare) continue;
      disk.push([`${millions} million`, ...diskUse(dir)]);
      for (const question of QUESTIONS)
        lines.push([`${millions} million: ${question[0]}`, ...readTimes(dir, model, question)]);
      const times = await commitBlocks(dir, model, BLOCKS);
      lines.push([
        `${millions} million: look-up of 10,000 coins`,
        ...spread(times.map(({ lookUps }) => lookUps)),
        '',
        '',
      ]);
      lines.push([
        `${millions} million: commit of 5,000 transactions`,
        ...spread(times.map(({ commit }) => commit)),
        '',
        '',
      ]);
    } finally {
      if (!values.prepare) rmSync(dir, { recursive: true, force: true });
    }
  }
  if (values.prepare) return;
  console.log('milliseconds; warm: the files are in the page cache, cold: none of them is');
  printGrid(['', 'p50 warm', 'p99 warm', 'p50 cold', 'p99 cold'], lines);
  console.log('megabytes on disk');
  printGrid(['', 'coins', 'txindex', 'history', 'scriptcoins', 'chain.db'], disk);
}

function readTimes(dir: string, model: RowsModel, [, ask]: Question): string[] {
  const reads = new ChainReads(dir);
  const cache = new PageCache(dir);
  // Warm and cold reads use the same rows: the first pass brings them into the page cache.
  const chosen = Array.from({ length: READS }, () => Math.floor(Math.random() * model.txs));
  try {
    const time = (before: () => void) =>
      chosen.map((one) => {
        before();
        const started = performance.now();
        reads.snapshot(() => ask(reads, model, one));
        return performance.now() - started;
      });
    time(() => {});
    return [...spread(time(() => {})), ...spread(time(() => cache.drop()))];
  } finally {
    cache.close();
    reads.close();
  }
}

function findTransaction(reads: ChainReads, model: RowsModel, rank: number): void {
  const txid = new Uint8Array(32);
  model.putTxid(rank, txid, 0);
  if (reads.txs.byTxid(txid) === null) throw new Error(`no transaction ${txid.toHex()}`);
}

/** Reads the newest page of a script's history, and the txid of each row. */
function findHistory(reads: ChainReads, model: RowsModel, script: number): void {
  const key = model.scriptKey(script) as ScriptKey;
  const rows = reads.scripts.history(key, { above: -1, below: Number.POSITIVE_INFINITY, order: 'desc', limit: PAGE });
  if (rows.length < 3) throw new Error(`script ${script} has ${rows.length} rows`);
  for (const { position } of rows) if (reads.txs.byPosition(position) === null) throw new Error(`no row ${position}`);
}

function spread(times: readonly number[]): string[] {
  const sorted = times.toSorted((a, b) => a - b);
  return [0.5, 0.99].map((share) => grouped(percentile(sorted, share), 2));
}

function diskUse(dir: string): string[] {
  const files = readdirSync(join(dir, 'runs'));
  const size = (path: string) => statSync(join(dir, path)).size / 1e6;
  const ofFamily = (family: string) =>
    files.filter((name) => name.includes(family)).reduce((sum, name) => sum + size(join('runs', name)), 0);
  const families = ['coins', 'txindex', 'history', 'scriptcoins'].map((name) =>
    name === 'coins' ? ofFamily('coins') - ofFamily('scriptcoins') : ofFamily(name),
  );
  return [...families, size('chain.db')].map((megabytes) => grouped(megabytes));
}
