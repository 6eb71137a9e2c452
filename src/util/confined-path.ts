import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { withDescriptors } from './descriptors.ts';

/**
 * Returns the path without symbolic links where it is one of these directories or inside of one, and null where it is not.
 * The path is absolute and normalized; it need not exist. The file system is read only where the text of the path is
 * within a directory, and all reasons for null look alike, so that a caller learns nothing about files outside.
 */
export function resolveWithin(path: string, directories: readonly string[]): string | null {
  const real = directories.map((directory) => resolveLinks(directory)).filter((directory) => directory !== null);
  if (![...directories, ...real].some((directory) => isWithin(path, directory))) return null;
  const resolved = resolveLinks(path);
  return resolved !== null && real.some((directory) => isWithin(resolved, directory)) ? resolved : null;
}

/** Whether a normalized path is the directory or inside of it, by their texts alone. */
export function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith(sep) ? directory : `${directory}${sep}`);
}

/**
 * Returns a path without symbolic links, of which the last names need not exist; null for a link that leads nowhere, and
 * where a directory cannot be read.
 */
export function resolveLinks(path: string): string | null {
  const missing: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    try {
      return join(
        withDescriptors(() => realpathSync.native(at)),
        ...missing,
      );
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if ((code !== 'ENOENT' && code !== 'ENOTDIR') || isLink(at) || at === dirname(at)) return null;
    }
    missing.unshift(basename(at));
  }
}

/** Whether the last name of the path is a symbolic link. */
function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
}
