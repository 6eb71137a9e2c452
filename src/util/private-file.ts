import { closeSync, constants, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Writes a file that only its owner may read, in one step. The temporary file is always a new one: in a directory that
 * others can write to, one that lies there already could be theirs, or a link to another place.
 */
export function writePrivateFile(path: string, text: string): void {
  const temporary = `${path}.tmp`;
  rmSync(temporary, { force: true });
  const fd = openSync(
    temporary,
    constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
    0o600,
  );
  try {
    writeFileSync(fd, text);
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, path);
}
