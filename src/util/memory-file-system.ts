import { statfsSync } from 'node:fs';

/** Types of file systems whose files are in memory (statfs(2)): tmpfs and ramfs. */
const IN_MEMORY: ReadonlySet<number> = new Set([0x0102_1994, 0x8584_58f6]);

/** By the number of the device. */
const known = new Map<number, boolean>();

/**
 * Returns whether the files of a device are in memory, so that no read of them waits for a disk; they have no reads that
 * return at once (RWF_NOWAIT). `path` is that of one of its files.
 */
export function isInMemory(device: number, path: string): boolean {
  let found = known.get(device);
  if (found === undefined) {
    found = process.platform === 'linux' && IN_MEMORY.has(statfsSync(path).type);
    known.set(device, found);
  }
  return found;
}
