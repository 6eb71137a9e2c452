import { existsSync, linkSync, renameSync, unlinkSync } from 'node:fs';

/** Renames a finished file; returns false where a file of that name exists by now, which stays as it is. */
export function publishFile(part: string, path: string): boolean {
  try {
    // A link, unlike a rename, fails where the name exists.
    linkSync(part, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' || existsSync(path)) return false;
    // This file system has no hard links.
    renameSync(part, path);
    return true;
  }
  unlinkSync(part);
  return true;
}
