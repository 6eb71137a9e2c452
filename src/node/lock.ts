import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { openLibc } from '../util/libc.ts';
import { OperatorError } from '../util/operator-error.ts';
import { storageProblem } from './storage-problem.ts';

const LOCK_EX = 2;
const LOCK_NB = 4;

/**
 * Takes the directory for this process, until it ends however it ends: the kernel drops the lock with the process.
 * Returns how to let go. Throws OperatorError when another process has it, or it cannot be written to.
 */
export function lockDirectory(dir: string): () => void {
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
    const owner = readFileSync(path, 'utf8').trim();
    throw new OperatorError(
      `${dir} is in use by another process${owner ? ` (pid ${owner})` : ''}: stop it first, or choose another datadir`,
    );
  }
  ftruncateSync(fd, 0);
  writeSync(fd, `${process.pid}\n`);
  return () => closeSync(fd);
}
