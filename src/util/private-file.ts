import { closeSync, constants, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Writes a file with mode 0600 atomically, through a new temporary file: in a directory that others can write to, an
 * existing one could belong to another user, or be a link to another file.
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
