import { statfsSync } from 'node:fs';
import { isDamage } from '../storage/database.ts';
import { diskProblem } from '../util/disk-problem.ts';
import { OperatorError } from '../util/operator-error.ts';

const NO_SPACE = 'no space left on the device';
const IO_ERRORS = 'the device reports read or write errors';
/** Free space below which SQLite cannot extend the shared memory of a database, bytes; it reports an I/O error then. */
const SHARED_MEMORY_BYTES = 32 * 1024;

/** Remedies for the sentences of `diskProblem`. */
const REMEDIES: Readonly<Record<string, string>> = {
  [NO_SPACE]: ': free some space; committed data is safe',
  'the disk quota is exhausted': '; committed data is safe',
  [IO_ERRORS]: ': check the disk',
};

const EXPLANATIONS: readonly (readonly [pattern: RegExp, text: string])[] = [
  [/EACCES|EPERM|permission denied/i, 'permission denied: it must be writable for the user who runs this program'],
  [/EROFS|readonly database|read-only/i, 'it is read-only: mount it writable, or choose another datadir'],
  [/ENOENT/, 'it does not exist and cannot be created'],
  [/ENOTDIR/, 'a part of this path is not a directory'],
  [
    /unable to open database file/i,
    'the database cannot be opened: it must be writable for the user who runs this program',
  ],
];

/**
 * Returns a sentence for the operator when storage fails for a known cause, else the error unchanged. `whenDamaged`
 * says how to recover damaged data, as a clause that follows a colon.
 */
export function storageProblem(error: unknown, dir: string, whenDamaged = 'restore a copy of it'): Error {
  if (!(error instanceof Error) || error.name === 'OperatorError') return error as Error;
  if (isDamage(error)) return new OperatorError(`cannot use ${dir}: the data is damaged: ${whenDamaged}`);
  const disk = isFullDisk(error, dir) ? NO_SPACE : diskProblem(error);
  if (disk !== null) return new OperatorError(`cannot use ${dir}: ${disk}${REMEDIES[disk] ?? ''}`);
  const { code = '' } = error as NodeJS.ErrnoException;
  const known = EXPLANATIONS.find(([pattern]) => pattern.test(`${code} ${error.message}`));
  return known ? new OperatorError(`cannot use ${dir}: ${known[1]}`) : error;
}

/** Whether an error of storage comes from a full disk. */
export function isFullDisk(error: Error, dir: string): boolean {
  const reported = diskProblem(error);
  return reported === NO_SPACE || (reported === IO_ERRORS && isFull(dir));
}

function isFull(dir: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dir);
    return bavail * bsize < SHARED_MEMORY_BYTES;
  } catch {
    return false;
  }
}
