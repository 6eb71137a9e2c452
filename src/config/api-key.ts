import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from './load.ts';
import type { Env } from './sources.ts';

/** Shorter keys can be guessed. */
const MIN_LENGTH = 16;
const MAX_FILE_BYTES = 4096;
/** The name of the credential in systemd's `LoadCredential=api-key:PATH`. */
const CREDENTIAL = 'api-key';

export interface ApiKey {
  readonly key: string;
  /** Null where the key comes from the environment itself. */
  readonly file: string | null;
  /** Whether other users of this machine can read the file. */
  readonly exposed: boolean;
}

/**
 * Returns the operator's own API key: `OBVERSE_API_KEY`, else the content of the file that `OBVERSE_API_KEY_FILE`
 * names, else the service manager's credential `api-key`; null where none is set. Throws ConfigError for a key that
 * cannot be used.
 */
export function readApiKey(env: Env): ApiKey | null {
  const { OBVERSE_API_KEY: key, OBVERSE_API_KEY_FILE: file, CREDENTIALS_DIRECTORY: credentials } = env;
  if (key !== undefined && file !== undefined)
    throw new ConfigError(['OBVERSE_API_KEY and OBVERSE_API_KEY_FILE are both set: set one of them']);
  if (key !== undefined) return { key: checked(key, 'OBVERSE_API_KEY'), file: null, exposed: false };
  if (file !== undefined) return keyOfFile(file, `OBVERSE_API_KEY_FILE: ${file}`);
  const credential = credentials && join(credentials, CREDENTIAL);
  if (!credential || statSync(credential, { throwIfNoEntry: false }) === undefined) return null;
  return { ...keyOfFile(credential, `credential ${CREDENTIAL}`), exposed: false };
}

function keyOfFile(file: string, name: string): ApiKey {
  try {
    const stat = statSync(file);
    if (!stat.isFile() || stat.size > MAX_FILE_BYTES)
      throw new ConfigError([`${name} is not a file of at most ${MAX_FILE_BYTES} bytes`]);
    const key = checked(readFileSync(file, 'utf8').trim(), name);
    return { key, file, exposed: (stat.mode & 0o077) !== 0 };
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError([`${name} cannot be read: ${(error as NodeJS.ErrnoException).code}`]);
  }
}

function checked(key: string, name: string): string {
  if (key.length < MIN_LENGTH) throw new ConfigError([`${name}: the key is shorter than ${MIN_LENGTH} characters`]);
  return key;
}
