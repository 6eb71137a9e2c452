import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ConfigError } from '../config/load.ts';
import type { Config } from '../config/settings.ts';
import type { TlsPair } from '../http/live-options.ts';

/**
 * Reads and checks certificate and key before the server uses them, since the server's errors do not name the file.
 * Returns null without TLS. Throws ConfigError.
 */
export function readTlsFiles({ cert, key }: Config['http']['tls']): TlsPair | null {
  if (cert === null || key === null) return null;
  const certificate = parsed('http.tls.cert', cert, 'a certificate', (text) => new X509Certificate(text));
  const privateKey = parsed('http.tls.key', key, 'a private key without a passphrase', createPrivateKey);
  if (!certificate.value.checkPrivateKey(privateKey.value))
    throw new ConfigError([`http.tls.key: ${key} is not the key of the certificate in ${cert}`]);
  return { cert: certificate.text, key: privateKey.text };
}

function parsed<T>(setting: string, file: string, what: string, parse: (text: string) => T) {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError([`${setting}: ${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`]);
  }
  try {
    return { text, value: parse(text) };
  } catch {
    throw new ConfigError([`${setting}: ${file} does not hold ${what} in PEM form`]);
  }
}
