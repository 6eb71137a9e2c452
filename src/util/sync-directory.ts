import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Makes the names in it survive a power cut: POSIX does not promise that of a file that was synced itself. */
export function syncDirectory(dir: string): void {
  // There directories cannot be opened, and need not be.
  if (process.platform === 'win32') return;
  const fd = openSync(dir, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
