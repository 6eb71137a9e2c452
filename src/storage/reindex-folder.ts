import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../util/operator-error.ts';
import { syncDirectory } from '../util/sync-directory.ts';
import { runFolder } from './runs/run-manifest.ts';

/**
 * File in the folder of the chain while a reindex is not complete. Without it a start would truncate block files, since
 * the new database does not refer to all of their blocks yet.
 */
const MARKER = 'reindex';

/** `clearing`: the old derived data may still be there in part. `building`: all derived data is new. */
type ReindexStage = 'clearing' | 'building';

/** Returns how far a reindex of this folder has come; null if none is under way. */
function reindexStage(chainDir: string): ReindexStage | null {
  const path = join(chainDir, MARKER);
  if (!existsSync(path)) return null;
  return readFileSync(path, 'utf8').trim() === 'building' ? 'building' : 'clearing';
}

/** Throws OperatorError if a reindex of this folder was interrupted. */
export function refuseUnfinishedReindex(chainDir: string): void {
  if (reindexStage(chainDir) !== null)
    throw new OperatorError(
      `a reindex of ${chainDir} was interrupted: run obverse reindex with the same settings to complete it`,
    );
}

/**
 * Removes what is derived from the block files: database, runs, undo data and filters. After a crash at any step the next
 * call does the remaining ones. An interrupted reindex is continued, so its data stays, unless `restart` is set. Returns
 * whether it is continued.
 */
export function beginReindex(chainDir: string, restart: boolean): boolean {
  let continued = true;
  for (const step of reindexSteps(chainDir, restart)) if (step === CLEARING) continued = false;
  return continued;
}

const CLEARING = 'marked for clearing';

/** The steps of `beginReindex`, which yields after each. */
export function* reindexSteps(chainDir: string, restart: boolean): Generator<string> {
  if (reindexStage(chainDir) === 'building' && !restart) return;
  writeMarker(chainDir, 'clearing');
  yield CLEARING;
  for (const name of ['chain.db', 'chain.db-shm', 'chain.db-wal']) {
    rmSync(join(chainDir, name), { force: true });
    yield `${name} removed`;
  }
  for (const folder of [runFolder(chainDir), join(chainDir, 'filters')]) {
    rmSync(folder, { recursive: true, force: true });
    yield `${folder} removed`;
  }
  const blocks = join(chainDir, 'blocks');
  for (const name of readdirSync(blocks)) if (/^rev\d+\.dat$/.test(name)) rmSync(join(blocks, name));
  syncDirectory(blocks);
  syncDirectory(chainDir);
  yield 'undo files removed';
  writeMarker(chainDir, 'building');
  yield 'marked for building';
}

/** Removes the marker of a reindex that is complete. The database must be closed; the next start opens it as usual. */
export function finishReindex(chainDir: string): void {
  // Block files are truncated where the database ends, so the database must be durable before.
  for (const name of ['chain.db', 'chain.db-wal']) {
    const path = join(chainDir, name);
    if (existsSync(path)) syncFile(path);
  }
  syncDirectory(chainDir);
  rmSync(join(chainDir, MARKER));
  syncDirectory(chainDir);
}

function writeMarker(chainDir: string, stage: ReindexStage): void {
  const path = join(chainDir, MARKER);
  const temporary = `${path}.tmp`;
  writeFileSync(temporary, `${stage}\n`, { mode: 0o600 });
  syncFile(temporary);
  renameSync(temporary, path);
  syncDirectory(chainDir);
}

function syncFile(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
