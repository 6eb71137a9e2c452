import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ChainReads } from '../../src/storage/chain-reads.ts';
import { buildExecutable } from './executable.ts';
import { measureProcess } from './measured-process.ts';
import { grouped, printGrid } from './report.ts';

/** Blocks with at least this many inputs belong to the phase that spends. */
const SPENDING_INPUTS = 1000;

/** A program that imports a chain into an empty directory. */
interface Importer {
  readonly name: string;
  command(datadir: string, chain: string): readonly string[];
  outcome(datadir: string): Outcome;
}

interface Outcome {
  readonly height: number;
  readonly coins: number | null;
  readonly spendingRate: number | null;
}

/**
 * Imports chains with the executable that operators run, one after the other, each into a directory of its own, and prints
 * what each cost. `--memory GIB` limits memory that includes the page cache; `--core BITCOIND` imports each with Bitcoin Core
 * as well; `--rounds N` imports all of them N times in turns.
 */
export async function benchSize(args: readonly string[]): Promise<void> {
  const { values, positionals: chains } = parseArgs({
    args: [...args],
    options: { memory: { type: 'string' }, core: { type: 'string' }, rounds: { type: 'string', default: '1' } },
    allowPositionals: true,
  });
  if (chains.length === 0) throw new Error('bench size needs chains: npm run bench -- size CHAIN… [--memory GIB]');
  const limitGiB = values.memory === undefined ? null : Number(values.memory);
  const folder = mkdtempSync(join(tmpdir(), 'obverse-size-'));
  const lines: string[][] = [];
  try {
    const executable = join(folder, 'obverse');
    await buildExecutable(executable);
    const obverse = obverseOf(executable);
    const importers = values.core === undefined ? [obverse] : [obverse, bitcoinCore(values.core)];
    for (let round = 0; round < Number(values.rounds); round++)
      for (const chain of chains)
        for (const importer of importers) lines.push(await importChain(importer, chain, limitGiB));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  console.log(limitGiB === null ? 'memory is not limited' : `${limitGiB} GiB of memory, page cache included`);
  printGrid(
    [
      '',
      'chain, MB',
      'height',
      'coins',
      'seconds',
      'CPU s',
      'spent inputs/s',
      'resident MB',
      'written, of chain',
      'read MB',
      'disk MB',
    ],
    lines,
  );
}

async function importChain(importer: Importer, chain: string, limitGiB: number | null): Promise<string[]> {
  const datadir = mkdtempSync(join(tmpdir(), 'obverse-size-'));
  try {
    const cost = await measureProcess(importer.command(datadir, chain), limitGiB);
    const { height, coins, spendingRate } = importer.outcome(datadir);
    const size = statSync(chain).size;
    return [
      importer.name,
      grouped(size / 1e6),
      grouped(height),
      coins === null ? '' : grouped(coins),
      grouped(cost.seconds, 1),
      grouped(cost.cpuSeconds, 1),
      spendingRate === null ? '' : grouped(spendingRate),
      grouped(cost.peak / 1e6),
      grouped(cost.written / size, 1),
      grouped(cost.read / 1e6),
      grouped(diskUse(datadir) / 1e6),
    ];
  } finally {
    rmSync(datadir, { recursive: true, force: true });
  }
}

/** Verifies all scripts, and makes all indexes that are on by default. */
function obverseOf(executable: string): Importer {
  return {
    name: 'Obverse',
    command: (datadir, chain) => [executable, 'import', '--network', 'regtest', '--datadir', datadir, chain],
    outcome: (datadir) => outcomeOf(join(datadir, 'regtest/chain')),
  };
}

/** Verifies all scripts with a thread per core, has no index, and leaves out the self-checks of regtest. */
function bitcoinCore(bitcoind: string): Importer {
  return {
    name: 'Bitcoin Core',
    command: (datadir, chain) => [
      ...[bitcoind, '-regtest', `-datadir=${datadir}`, `-loadblock=${chain}`, '-stopafterblockimport'],
      ...[
        '-connect=0',
        '-listen=0',
        '-server=0',
        '-checkblockindex=0',
        '-assumevalid=0',
        `-par=${navigator.hardwareConcurrency}`,
      ],
    ],
    outcome(datadir) {
      const log = readFileSync(join(datadir, 'regtest/debug.log'), 'utf8');
      const height = Number(/.*UpdateTip: .* height=(\d+)/s.exec(log)?.[1] ?? 0);
      return { height, coins: null, spendingRate: null };
    },
  };
}

/** Returns the number of coins, and the inputs per second from the first block that spends many to the tip. */
function outcomeOf(dir: string): Outcome {
  const reads = new ChainReads(dir);
  try {
    const tip = reads.tip();
    let inputs = 0;
    let first: number | null = null;
    for (let height = 1; height <= tip.height; height++) {
      const { stats, receivedAt } = reads.headers.byHeight(height)!;
      if (first !== null) inputs += stats!.inputs;
      if (stats!.inputs >= SPENDING_INPUTS) first ??= receivedAt;
    }
    const seconds = first === null ? 0 : tip.receivedAt! - first;
    return {
      height: tip.height,
      coins: reads.headers.totals(tip.height)!.utxos,
      spendingRate: seconds > 0 ? inputs / seconds : null,
    };
  } finally {
    reads.close();
  }
}

function diskUse(dir: string): number {
  const { stdout } = Bun.spawnSync(['du', '-sk', dir]);
  return Number(stdout.toString().split('\t')[0]) * 1024;
}
