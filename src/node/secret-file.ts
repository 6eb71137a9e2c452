import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { OperatorError } from '../util/operator-error.ts';
import { secretBytes, secretCopy } from '../util/secret-bytes.ts';

const MAX_BYTES = 4096;
const LINE_END = 0x0a;

export interface SecretFile {
  /** Name in errors. */
  readonly name: string;
  /** Name of its contents in errors. */
  readonly kind: string;
  /** Whether the file must belong to this user and be readable for no other user. */
  readonly isOwn: boolean;
}

/**
 * Returns the content of a file without a trailing line end. The caller overwrites it. Throws OperatorError for a file
 * that cannot be used, or that other users can read.
 */
export function readSecretFile(file: string, { name, kind, isOwn }: SecretFile): Uint8Array {
  const bytes = secretBytes(MAX_BYTES + 1);
  const fd = opened(file, name);
  try {
    const { mode, uid } = fstatSync(fd);
    if (isOwn && ((mode & 0o077) !== 0 || uid !== process.getuid?.()))
      throw new OperatorError(
        `${name} must be owned by the user who runs the node and readable only for that user (mode 600 or 400); it has mode ${(mode & 0o777).toString(8)} and owner ${uid}`,
        { isOfSettings: true },
      );
    let size = readSync(fd, bytes, 0, bytes.length, 0);
    if (size > MAX_BYTES) throw new OperatorError(`${name} is longer than ${MAX_BYTES} bytes`, { isOfSettings: true });
    if (bytes[size - 1] === LINE_END) size--;
    if (size === 0) throw new OperatorError(`${name} holds no ${kind}`, { isOfSettings: true });
    return secretCopy(bytes.subarray(0, size));
  } finally {
    closeSync(fd);
    bytes.fill(0);
  }
}

function opened(file: string, name: string): number {
  try {
    const fd = openSync(file, 'r');
    if (fstatSync(fd).isFile()) return fd;
    closeSync(fd);
  } catch (error) {
    throw new OperatorError(`${name} cannot be read: ${(error as NodeJS.ErrnoException).code}`, { isOfSettings: true });
  }
  throw new OperatorError(`${name} is not a file`, { isOfSettings: true });
}
