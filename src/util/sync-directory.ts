import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Syncs a directory, so that its entries survive a power failure: POSIX does not guarantee that for a synced file. */
export function syncDirectory(dir: string): void {
  // Windows cannot open directories, and need not sync them.
  if (process.platform === 'win32') return;
  const fd = openSync(dir, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Makes a file durable that another library has written. */
export function syncFile(path: string): void {
  const fd = openSync(path, 'r+');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
