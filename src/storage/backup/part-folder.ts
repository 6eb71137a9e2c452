import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { withDescriptors } from '../../util/descriptors.ts';
import { OperatorError } from '../../util/operator-error.ts';
import { syncDirectory } from '../../util/sync-directory.ts';
import { partOf } from './backup-manifest.ts';

/** Names the data directory that an unfinished backup is of. */
const MARKER = 'incomplete.json';
/** The lock of the process that writes the backup. It stays in the folder, since another process may wait for it. */
const LOCK = 'lock';
const SMALL_FILE_BYTES = 1 << 20;

/** Throws OperatorError where the target of a backup exists and is not an empty directory. */
export function assertTargetFree(target: string): void {
  if (existsSync(target) && !isEmptyDirectory(target))
    throw new OperatorError(`${target} already exists: name another directory for the backup`);
}

/**
 * Begins the folder of an unfinished backup, or finds that of an interrupted one. `source` differs between data directories.
 * Throws OperatorError where the folder is another one.
 */
export function openPart(target: string, source: string): string {
  const part = partOf(target);
  const marker = join(part, MARKER);
  mkdirSync(part, { recursive: true, mode: 0o700 });
  if (!isEmptyDirectory(part)) {
    const found = readSmallFile(marker);
    if (found === null)
      throw new OperatorError(`${part} is not empty and is no unfinished backup: name another directory`);
    if (found.toString('utf8') !== source)
      throw new OperatorError(`${part} is the unfinished backup of another data directory: name another directory`);
    return part;
  }
  writeSmallFile(marker, Buffer.from(source));
  syncDirectory(part);
  return part;
}

function isEmptyDirectory(path: string): boolean {
  return statSync(path).isDirectory() && readdirSync(path).every((name) => name === LOCK);
}

/** Returns the bytes of a small file; null where it does not exist. */
export function readSmallFile(path: string): Buffer<ArrayBuffer> | null {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return null;
  if (!found.isFile() || found.size > SMALL_FILE_BYTES)
    throw new OperatorError(`${path} is not a file of at most ${SMALL_FILE_BYTES} bytes and cannot be backed up`);
  return withDescriptors(() => readFileSync(path));
}

/** Writes a file that only the owner can read, and makes it durable. */
export function writeSmallFile(path: string, bytes: Uint8Array): void {
  rmSync(path, { force: true });
  const fd = withDescriptors(() => openSync(path, 'wx', 0o600));
  try {
    for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Removes everything from a folder but its lock and the given files, whose paths are relative, and syncs all folders. */
export function keepOnly(folder: string, paths: ReadonlySet<string>): void {
  const visit = (dir: string, prefix: string): void => {
    for (const entry of readdirSync(dir, { withFileTypes: true })) {
      const path = `${prefix}${entry.name}`;
      if (entry.isDirectory()) visit(join(dir, entry.name), `${path}/`);
      else if (path !== LOCK && !paths.has(path)) rmSync(join(dir, entry.name));
    }
    syncDirectory(dir);
  };
  visit(folder, '');
}
