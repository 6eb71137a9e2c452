import {
  existsSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { OperatorError } from '../util/operator-error.ts';
import { syncDirectory } from '../util/sync-directory.ts';

/**
 * Earlier versions kept these beside wallets and keys. The database is moved last, since its WAL must not be left
 * behind.
 */
const MOVED = ['blocks', 'filters', 'chain.db-wal', 'chain.db-shm', 'chain.db'] as const;

/** Advice for damaged chain data. It names the folder of the chain alone, never one with wallets or keys. */
export function syncAgainAdvice(chainDir: string): string {
  return `run obverse reindex, or ${downloadAgainAdvice(chainDir)}`;
}

/** Advice where a reindex does not help, since blocks have been pruned. */
export function downloadAgainAdvice(chainDir: string): string {
  return `remove ${chainDir} and sync again; wallets and keys are stored elsewhere and are kept`;
}

/**
 * Moves chain data of the old layout, beside `chainDir`, into that folder. Must be called before any of it is opened.
 * After a crash at any step the next call does the remaining ones. Throws OperatorError if both layouts exist, or if
 * the data cannot be moved within the file system.
 */
export function moveChainData(chainDir: string): void {
  for (const _ of chainDataMoves(chainDir));
}

/** The steps of `moveChainData`, which yields after each. */
export function* chainDataMoves(chainDir: string): Generator<string, void> {
  const networkDir = dirname(chainDir);
  // Under its final name the folder is complete, so old data beside it can only come from an earlier version.
  const unfinished = unfinishedMove(chainDir);
  const old = earlierChainData(chainDir);
  if (old.length === 0 && !existsSync(unfinished)) return;
  if (isThere(chainDir))
    throw new OperatorError(
      `chain data is in ${chainDir} and, left by an earlier version, beside it (${old.join(', ') || unfinished}): move one of the two away`,
    );
  mkdirSync(unfinished, { recursive: true, mode: 0o700 });
  yield unfinished;
  for (const name of old) yield* move(join(networkDir, name), join(unfinished, name));
  // After a power failure the folder must not have its final name without a part of its content.
  syncDirectory(unfinished);
  renameSync(unfinished, chainDir);
  syncDirectory(networkDir);
  yield chainDir;
}

/** Whether an earlier version has left chain data beside the folder of the chain. */
export function hasEarlierChainData(chainDir: string): boolean {
  return earlierChainData(chainDir).length > 0 || existsSync(unfinishedMove(chainDir));
}

function earlierChainData(chainDir: string): string[] {
  return MOVED.filter((name) => {
    const path = join(dirname(chainDir), name);
    return isThere(path) && !isSamePlace(path, join(chainDir, name));
  });
}

function unfinishedMove(chainDir: string): string {
  return `${chainDir}.moving`;
}

function* move(from: string, to: string): Generator<string, void> {
  try {
    if (isRelativeLink(from)) {
      // A relative link would point elsewhere from its new folder.
      if (!isThere(to)) symlinkSync(resolve(dirname(from), readlinkSync(from)), to);
      yield `${to} linked`;
      unlinkSync(from);
    } else renameSync(from, to);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EXDEV' && code !== 'EBUSY') throw error;
    throw new OperatorError(
      `${from} cannot be moved to ${to}, since a file system is mounted there: mount it at another place, make ${from} a symbolic link to that place, and start again`,
    );
  }
  yield to;
}

/** True where an operator has linked one path to the other, so that there are no data of an earlier version. */
function isSamePlace(a: string, b: string): boolean {
  return existsSync(a) && existsSync(b) && realpathSync(a) === realpathSync(b);
}

function isRelativeLink(path: string): boolean {
  return lstatSync(path).isSymbolicLink() && !isAbsolute(readlinkSync(path));
}

/** True also for a link whose target is missing, such as a disk that is not mounted. */
function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
