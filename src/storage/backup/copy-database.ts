import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { OperatorError } from '../../util/operator-error.ts';
import { syncFile } from '../../util/sync-directory.ts';
import { createPrivateFile, openReadOnly } from '../database.ts';
import { type ChainContent, type HeldRuns, readChainContent } from './chain-files.ts';

/** Suffix of a copy that SQLite is writing. */
const NEW = '.new';
const JOURNALS = ['-journal', '-wal', '-shm'] as const;
/** Copies of chain.db that are made until the files of all runs of one are open. */
const CHAIN_ATTEMPTS = 3;
const READER_CACHE_MIB = 4;

/**
 * Copies a database that other connections may use meanwhile. SQLite writes the copy under another name, so that an
 * interrupted one is never mistaken for a whole one. The copy is durable.
 */
export function copyDatabase(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
  const unfinished = `${to}${NEW}`;
  for (const suffix of ['', ...JOURNALS]) rmSync(`${unfinished}${suffix}`, { force: true });
  // SQLite fills an empty file, which has the right mode from the start.
  createPrivateFile(unfinished);
  const db = openReadOnly(from, READER_CACHE_MIB);
  try {
    db.query('VACUUM INTO ?').run(unfinished);
  } finally {
    db.close();
  }
  syncFile(unfinished);
  // SQLite would apply the journal of an earlier copy, which a kill has left, to this one.
  for (const suffix of JOURNALS) rmSync(`${to}${suffix}`, { force: true });
  renameSync(unfinished, to);
}

/**
 * Copies chain.db with `copy`, from its path to `to`, until the files of all runs that the copy names are held. Returns
 * the content of the copy. Throws OperatorError where a run is missing.
 */
export function copyChainDatabase(
  chainDir: string,
  to: string,
  held: HeldRuns,
  copy: (from: string, to: string) => void = copyDatabase,
): ChainContent {
  for (let attempt = 1; ; attempt++) {
    held.holdAll();
    copy(join(chainDir, 'chain.db'), to);
    const content = contentOf(to, chainDir);
    const missing = content.runs.find((name) => held.find(name) === null);
    if (missing === undefined) return content;
    if (attempt === CHAIN_ATTEMPTS)
      throw new OperatorError(`${join(chainDir, 'runs', missing)} is missing: stop the node and run obverse verify`);
  }
}

function contentOf(path: string, chainDir: string): ChainContent {
  const copy = openReadOnly(path, READER_CACHE_MIB);
  try {
    return readChainContent(copy, chainDir);
  } finally {
    copy.close();
  }
}
