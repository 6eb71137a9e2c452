import { Database } from 'bun:sqlite';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RunManifest, runFileName, runFolder } from '../../src/storage/runs/run-manifest.ts';
import type { Random } from '../fuzz/random.ts';
import { type ChainState, dumpState } from '../lib/chain-state.ts';

/** Names of the files that the list of runs names, read from a copy, so that the original stays as the kill left it. */
function listedRuns(chainDir: string): Set<string> {
  const copy = mkdtempSync(join(tmpdir(), 'obverse-list-'));
  try {
    for (const name of ['chain.db', 'chain.db-wal'])
      if (existsSync(join(chainDir, name))) copyFileSync(join(chainDir, name), join(copy, name));
    const db = new Database(join(copy, 'chain.db'));
    try {
      if (db.query("SELECT 1 FROM sqlite_master WHERE name = 'runs'").get() === null) return new Set();
      const files = new RunManifest(db).all().filter(({ inTable }) => !inTable);
      return new Set(files.map(({ id, family }) => runFileName(id, family)));
    } finally {
      db.close();
    }
  } finally {
    rmSync(copy, { recursive: true });
  }
}

function runFiles(chainDir: string): string[] {
  return existsSync(runFolder(chainDir)) ? readdirSync(runFolder(chainDir)).sort() : [];
}

/** Files of runs after a kill. */
export interface RunFilesLeft {
  readonly listed: number;
  readonly unlisted: number;
  /** Files that the list names and that are not there. */
  readonly missing: readonly string[];
}

/**
 * Inspects the files of runs after a kill, and tears each file that the list does not name as a power failure may: a part
 * of it is cut off or is other bytes.
 */
export function tearUnlistedRuns(chainDir: string, random: Random): RunFilesLeft {
  if (!existsSync(join(chainDir, 'chain.db'))) return { listed: 0, unlisted: 0, missing: [] };
  const listed = listedRuns(chainDir);
  const files = runFiles(chainDir);
  const unlisted = files.filter((name) => !listed.has(name));
  for (const name of unlisted) {
    const path = join(runFolder(chainDir), name);
    const { size } = statSync(path);
    truncateSync(path, random.int(size + 1));
    if (random.once(2)) writeFileSync(path, random.bytes(random.int(8192)), { flag: 'a' });
  }
  return {
    listed: listed.size,
    unlisted: unlisted.length,
    missing: [...listed].filter((name) => !files.includes(name)),
  };
}

/** The content of a chain folder of a node that has ended, as one digest for each part. */
export function chainDigests(chainDir: string): Map<string, string> {
  const state: ChainState = dumpState(chainDir);
  const digests = new Map<string, string>();
  for (const [table, lines] of Object.entries(state) as [string, readonly string[]][])
    digests.set(table, `${lines.length} rows, ${Bun.SHA256.hash(lines.join('\n'), 'hex')}`);
  return digests;
}

/** The bytes of block and undo files. Nodes that received the same blocks in one order have the same. */
export function blockFileDigests(chainDir: string): Map<string, string> {
  const folder = join(chainDir, 'blocks');
  const digest = (name: string) => {
    const bytes = readFileSync(join(folder, name));
    return `${bytes.length} bytes, ${Bun.SHA256.hash(bytes, 'hex')}`;
  };
  return new Map(readdirSync(folder).map((name) => [name, digest(name)]));
}

/** Returns one sentence for each part that differs. */
export function digestDifferences(
  actual: ReadonlyMap<string, string>,
  expected: ReadonlyMap<string, string>,
): string[] {
  return [...new Set([...actual.keys(), ...expected.keys()])]
    .filter((name) => actual.get(name) !== expected.get(name))
    .map((name) => `${name} is ${actual.get(name) ?? 'missing'}, not ${expected.get(name) ?? 'missing'}`);
}

/** Returns the files in `runs/` that the list does not name, after a start has removed those of the last run. */
export function unlistedRuns(chainDir: string): string[] {
  const listed = listedRuns(chainDir);
  return runFiles(chainDir).filter((name) => !listed.has(name));
}

/** Bytes of all block files. */
export function blockBytes(chainDir: string): number {
  const folder = join(chainDir, 'blocks');
  if (!existsSync(folder)) return 0;
  return readdirSync(folder)
    .filter((name) => name.startsWith('blk'))
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}
