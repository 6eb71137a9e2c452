import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmdirSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { refuseUnfinishedRestore } from '../storage/backup/restore-marker.ts';
import { openLibc } from '../util/libc.ts';
import { OperatorError } from '../util/operator-error.ts';
import { storageProblem } from './storage-problem.ts';

const LOCK_EX = 2;
const LOCK_NB = 4;

/** Another process holds the lock of a directory. */
export class DirectoryInUse extends OperatorError {
  /** The id of that process; empty where it is not known. */
  readonly owner: string;

  constructor(dir: string, owner: string) {
    super(
      `${dir} is in use by another process${owner ? ` (pid ${owner})` : ''}: stop it first, or choose another datadir`,
    );
    this.owner = owner;
  }
}

interface LockOptions {
  /** Called with the process that has locked the directory before and has ended without releasing it. */
  readonly onUnclean?: (pid: string) => void;
  /** Whether a directory is locked into which a restore was interrupted. */
  readonly allowsRestore?: boolean;
}

/**
 * Locks the directory for this process. The kernel releases the lock when the process ends, in whatever way. Returns a
 * function that releases it. Throws DirectoryInUse when another process holds it, OperatorError where it is not writable
 * or a restore into it was interrupted.
 */
export function lockDirectory(dir: string, options: LockOptions = {}): () => void {
  const { onUnclean, allowsRestore = false } = options;
  const path = join(dir, 'lock');
  let fd: number;
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    fd = openSync(path, 'a+', 0o600);
  } catch (error) {
    throw storageProblem(error, dir);
  }
  const libc = openLibc({ flock: { args: ['i32', 'i32'], returns: 'i32' } });
  if (libc && libc.flock(fd, LOCK_EX | LOCK_NB) !== 0) {
    closeSync(fd);
    const owner = existsSync(path) ? readFileSync(path, 'utf8').trim() : '';
    throw new DirectoryInUse(dir, owner);
  }
  // A start that failed may have removed the file since it was opened; its lock would exclude no other process.
  if (statSync(path, { throwIfNoEntry: false })?.ino !== fstatSync(fd).ino) {
    closeSync(fd);
    return lockDirectory(dir, options);
  }
  try {
    if (!allowsRestore) refuseUnfinishedRestore(dir);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  const earlier = readFileSync(path, 'utf8').trim();
  if (earlier !== '') onUnclean?.(earlier);
  try {
    ftruncateSync(fd, 0);
    writeSync(fd, `${process.pid}\n`);
  } catch (error) {
    closeSync(fd);
    throw storageProblem(error, dir);
  }
  return () => {
    try {
      // An empty file says that its process has ended as it should.
      ftruncateSync(fd, 0);
    } catch {
      // The file system is read-only now. The next start reports an end that was not clean.
    }
    closeSync(fd);
  };
}

/** Removes a directory in which this process has only written its lock, after a start that failed. */
export function removeLockedDirectory(dir: string): void {
  try {
    unlinkSync(join(dir, 'lock'));
    rmdirSync(dir);
  } catch {
    // Another program has written to it: what is there stays.
  }
}
