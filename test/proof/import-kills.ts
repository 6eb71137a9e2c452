import { Database } from 'bun:sqlite';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { openWriter } from '../../src/storage/chain-database.ts';
import { closeDatabase } from '../../src/storage/database.ts';
import { RunStore } from '../../src/storage/runs/run-store.ts';
import { hostClock } from '../../src/util/clock.ts';
import { Random } from '../fuzz/random.ts';
import { Program, startNode, tempDir } from '../lib/node-process.ts';
import {
  blockBytes,
  blockFileDigests,
  chainDigests,
  digestDifferences,
  tearUnlistedRuns,
  unlistedRuns,
} from './chain-files.ts';
import type { Proof } from './proof.ts';
import { WideChains } from './wide-chain.ts';

const BLOCKS = 110;
/** Enough for files of runs, where only some kills are wanted. */
const FEW_BLOCKS = 40;
const FEW_KILLS = 10;
const IMPORT_TIMEOUT_MS = 300_000;
/** A kill comes up to this long after the import has begun, or has stored further blocks. */
const KILLED_WITHIN_MS = 400;
/** One of so many kills comes before a block is stored, within the start of the program. */
const AT_START = 5;

/** Number of events over all imports. */
class Counts {
  imports = 0;
  kills = 0;
  /** Kills while files existed that the list did not name yet, or no more. */
  amidFiles = 0;
  torn = 0;
  heights = new Set<number>();
}

/**
 * Imports a chain again and again, and kills the program with SIGKILL at random moments until each import has ended. Files
 * of runs that no commit names yet are torn before the next start. The end must be that of an import without a kill.
 */
export const importKills: Proof = {
  help: 'an import that is killed at random moments ends as one that is not; counts kills',
  count: 200,
  async run(count, seed, signal, progress) {
    const random = new Random(seed);
    const chain = new WideChains().chain(count < FEW_KILLS ? FEW_BLOCKS : BLOCKS);
    const folder = tempDir('import-kills');
    const file = join(folder, 'blocks.dat');
    chain.writeBootstrap(file);
    const counts = new Counts();
    const violations: string[] = [];
    const whole = await importWhole(file);
    while (counts.kills < count && violations.length === 0) {
      signal.throwIfAborted();
      const datadir = tempDir('import-kills');
      await killImports(datadir, file, { random, counts, count, violations, signal });
      violations.push(...(await compare(datadir, file, whole)).map((text) => `import ${counts.imports}: ${text}`));
      rmSync(datadir, { recursive: true });
      progress?.(
        `import ${counts.imports}: ${counts.kills} kills at ${counts.heights.size} lengths of the block files`,
      );
    }
    rmSync(folder, { recursive: true });
    const figures = [
      ['blocks', chain.height],
      ['imports', counts.imports],
      ['kills', counts.kills],
      ['different lengths of the block files at a kill', counts.heights.size],
      ['kills with files of runs that the list does not name', counts.amidFiles],
      ['torn files', counts.torn],
      ['files of runs of an import without a kill', whole.files],
    ] as const;
    return { figures, violations };
  },
};

interface KillOptions {
  readonly random: Random;
  readonly counts: Counts;
  readonly count: number;
  readonly violations: string[];
  readonly signal: AbortSignal;
}

const chainDirOf = (datadir: string) => join(datadir, 'regtest/chain');

function startImport(datadir: string, file: string): Program {
  return new Program(['import', '--network', 'regtest', '--datadir', datadir, file]);
}

/** Starts the import until it ends by itself, and kills it before that while kills are left. */
async function killImports(
  datadir: string,
  file: string,
  { random, counts, count, violations, signal }: KillOptions,
): Promise<void> {
  const chainDir = chainDirOf(datadir);
  counts.imports++;
  for (;;) {
    signal.throwIfAborted();
    const before = blockBytes(chainDir);
    const program = startImport(datadir, file);
    if (counts.kills < count) {
      if (!random.once(AT_START))
        await program
          .until('a block to be stored', () => blockBytes(chainDir) > before, IMPORT_TIMEOUT_MS, 2)
          .catch((error) => {
            // It may have ended with the blocks that it had.
            if (!program.exit) throw error;
          });
      await Promise.race([program.exited, Bun.sleep(random.int(KILLED_WITHIN_MS))]);
      if (!program.exit) program.kill('SIGKILL');
    }
    const { status, signal: ended } = await program.end(IMPORT_TIMEOUT_MS);
    if (status === 0) return;
    if (ended !== 'SIGKILL') {
      violations.push(
        `import ${counts.imports} ended with ${status ?? ended} after a kill: ${program.stderr.slice(-500)}`,
      );
      return;
    }
    counts.kills++;
    counts.heights.add(blockBytes(chainDir));
    const { unlisted, missing } = tearUnlistedRuns(chainDir, random);
    if (unlisted > 0) counts.amidFiles++;
    counts.torn += unlisted;
    for (const name of missing) violations.push(`import ${counts.imports}: the list names ${name}, which is missing`);
  }
}

interface Outcome {
  readonly state: ReadonlyMap<string, string>;
  readonly blocks: ReadonlyMap<string, string>;
  readonly utxoHash: string;
  readonly files: number;
}

async function importWhole(file: string): Promise<Outcome> {
  const datadir = tempDir('import-whole');
  const { status } = await startImport(datadir, file).end(IMPORT_TIMEOUT_MS);
  if (status !== 0) throw new Error('the import without a kill failed');
  const outcome = await outcomeOf(datadir);
  rmSync(datadir, { recursive: true });
  return outcome;
}

async function outcomeOf(datadir: string): Promise<Outcome> {
  const chainDir = chainDirOf(datadir);
  const state = chainDigests(chainDir);
  const blocks = blockFileDigests(chainDir);
  const node = await startNode({ datadir, args: ['--wallet.enabled=false'] });
  const { hash_serialized_3: utxoHash } = await node.api.rpc<{ hash_serialized_3: string }>('gettxoutsetinfo');
  await node.stop();
  return { state, blocks, utxoHash, files: listedFiles(chainDir) };
}

function listedFiles(chainDir: string): number {
  const db = new Database(join(chainDir, 'chain.db'), { readonly: true });
  try {
    return db.query<{ n: number }, []>('SELECT count(*) AS n FROM runs WHERE image IS NULL').get()!.n;
  } finally {
    db.close();
  }
}

/** Returns the parts of the end that differ from those of an import without a kill. */
async function compare(datadir: string, file: string, whole: Outcome): Promise<string[]> {
  const outcome = await outcomeOf(datadir);
  const differences = [
    ...digestDifferences(outcome.state, whole.state),
    ...digestDifferences(outcome.blocks, whole.blocks),
  ];
  if (outcome.utxoHash !== whole.utxoHash)
    differences.push(`the hash of the UTXO set is ${outcome.utxoHash}, not ${whole.utxoHash}`);
  // Files that a merge replaced stay for readers until the next start, and nothing else may be in the folder after it.
  const chainDir = chainDirOf(datadir);
  openOnce(chainDir);
  for (const name of unlistedRuns(chainDir)) differences.push(`the list of runs does not name ${name}`);
  if (blockBytes(chainDir) === 0) differences.push(`${file} left no blocks`);
  return differences;
}

/** Opens and closes the store of runs, which removes the files that its list does not name. */
function openOnce(chainDir: string): void {
  const identity = {
    network: 'regtest',
    genesisHash: '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206',
  };
  const db = openWriter(join(chainDir, 'chain.db'), identity, 1);
  new RunStore(db, chainDir, hostClock).close();
  closeDatabase(db);
}
