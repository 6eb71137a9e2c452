import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ConfigError } from '../config/load.ts';

/**
 * Checks certificate and key before the server opens them, since the server's errors do not name the file. Throws
 * ConfigError.
 */
export function checkTlsFiles({ cert, key }: { readonly cert: string | null; readonly key: string | null }): void {
  if (cert === null || key === null) return;
  const certificate = parsed('http.tls.cert', cert, 'a certificate', (text) => new X509Certificate(text));
  const privateKey = parsed('http.tls.key', key, 'a private key without a passphrase', createPrivateKey);
  if (!certificate.checkPrivateKey(privateKey))
    throw new ConfigError([`http.tls.key: ${key} is not the key of the certificate in ${cert}`]);
}

function parsed<T>(setting: string, file: string, what: string, parse: (text: string) => T): T {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError([`${setting}: ${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`]);
  }
  try {
    return parse(text);
  } catch {
    throw new ConfigError([`${setting}: ${file} does not hold ${what} in PEM form`]);
  }
}
