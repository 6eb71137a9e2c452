import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readSecretFile } from './secret-file.ts';

/** The name of the credential in systemd's `LoadCredential=wallet-passphrase:PATH`. */
const CREDENTIAL = 'wallet-passphrase';

/**
 * Returns the passphrase for the wallet that the first start creates: the content of the configured file, else the
 * service manager's credential, without a trailing line end; null where there is none. The caller overwrites it. Throws
 * OperatorError for a file that cannot be used, or that other users can read.
 */
export function readWalletPassphrase(
  file: string | null,
  credentials = process.env.CREDENTIALS_DIRECTORY,
): Uint8Array | null {
  if (file !== null)
    return readSecretFile(file, { name: `wallet.passphraseFile: ${file}`, kind: 'passphrase', isOwn: true });
  const credential = credentials && join(credentials, CREDENTIAL);
  // The service manager controls who may read the credential.
  return credential && existsSync(credential)
    ? readSecretFile(credential, { name: `credential ${CREDENTIAL}`, kind: 'passphrase', isOwn: false })
    : null;
}
