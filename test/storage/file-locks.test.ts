import { expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AuthStore } from '../../src/auth/auth-store.ts';

/** SQLite's file format: the bytes that every connection to a WAL database keeps locked. */
const SHARED_LOCK = '1073741826 1073742335';

function holdsSharedLock(path: string): boolean {
  const inode = statSync(path).ino;
  return readFileSync('/proc/locks', 'utf8')
    .split('\n')
    .some((line) => line.includes(` ${process.pid} `) && line.includes(`:${inode} ${SHARED_LOCK}`));
}

// Without this lock another program that closes the file would consider itself the last one and remove the WAL in use.
test.if(process.platform === 'linux')('a file stays locked when the same process opens it a second time', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'file-locks-')), 'auth.db');
  const first = new AuthStore(path);
  expect(holdsSharedLock(path)).toBe(true);
  const second = new AuthStore(path);
  expect(holdsSharedLock(path)).toBe(true);
  second.close();
  first.close();
});
