import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../util/operator-error.ts';
import { secretBytes, secretCopy } from '../util/secret-bytes.ts';

/** The name of the credential in systemd's `LoadCredential=wallet-passphrase:PATH`. */
const CREDENTIAL = 'wallet-passphrase';
const MAX_BYTES = 4096;
const LINE_END = 0x0a;

/**
 * Returns the passphrase for the wallet that the first start creates: the content of the configured file, else the
 * service manager's credential, without a trailing line end; null where there is none. The caller overwrites it. Throws
 * OperatorError for a file that cannot be used, or that other users can read.
 */
export function readWalletPassphrase(
  file: string | null,
  credentials = process.env.CREDENTIALS_DIRECTORY,
): Uint8Array | null {
  if (file !== null) return read(file, `wallet.passphraseFile: ${file}`, true);
  const credential = credentials && join(credentials, CREDENTIAL);
  // The service manager controls who may read the credential.
  return credential && existsSync(credential) ? read(credential, `credential ${CREDENTIAL}`, false) : null;
}

function read(file: string, name: string, isOwn: boolean): Uint8Array {
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
    if (size === 0) throw new OperatorError(`${name} holds no passphrase`, { isOfSettings: true });
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
