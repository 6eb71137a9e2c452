import { closeSync, constants, fstatSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Writes a file with mode 0600 atomically, through a new temporary file: in a directory that others can write to, an
 * existing one could belong to another user, or be a link to another file.
 */
export function writePrivateFile(path: string, content: string | Uint8Array): void {
  const temporary = `${path}.tmp`;
  rmSync(temporary, { force: true });
  const fd = openSync(
    temporary,
    constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
    0o600,
  );
  try {
    writeFileSync(fd, content);
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, path);
}

/**
 * Returns the content of a file; null if there is none. Throws an error that names the path if it cannot be read, is not
 * a file or has more than `maxBytes`.
 */
export function readPrivateFile(path: string, maxBytes: number): Buffer | null {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    const facts = fstatSync(fd);
    if (!facts.isFile() || facts.size > maxBytes) throw new Error(`${path} is not a file of at most ${maxBytes} bytes`);
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}
