import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SCOPES } from '../http/scopes.ts';
import { equalBytes } from '../util/bytes.ts';
import type { Log } from '../util/log.ts';
import type { AuthStore, KeyRecord, KeySecret } from './auth-store.ts';
import { isAdminKey } from './issue-key.ts';
import { type KeyParts, makeKey, parseApiKey, secretHash } from './key-format.ts';

/** The state of the file initial.key. */
export interface InitialKey {
  readonly file: string;
  /** null where the file holds no key. */
  readonly keyId: string | null;
  /** Whether the file can be removed: another key with the scope admin is valid. */
  readonly removable: boolean;
}

export function initialKeyFile(networkDir: string): string {
  return join(networkDir, 'initial.key');
}

/** Creates a key with all scopes on the first start of a node without any key, and writes it to initial.key (0600). */
export function issueInitialKey(store: AuthStore, networkDir: string, now: number): string {
  const file = initialKeyFile(networkDir);
  const { text, parts } = makeKey();
  // The file is written first: after a crash in between, the store holds no key, and the next start writes both again.
  writeFileSync(file, `${text}\n`, { mode: 0o600 });
  const record: KeyRecord = {
    id: parts.id,
    label: 'initial',
    scopes: SCOPES,
    createdAt: now,
    expiresAt: null,
    revokedAt: null,
    allowedIps: null,
    rate: null,
    wallets: null,
    lastUsedAt: null,
  };
  store.createKey(record, secretHash(parts.secret));
  return file;
}

/** Null where there is no such file, or where the secret in it was rotated out and is no longer valid. */
export function initialKeyOf(
  networkDir: string,
  store: Pick<AuthStore, 'keys' | 'secrets'>,
  now: number,
): InitialKey | null {
  const file = initialKeyFile(networkDir);
  if (!existsSync(file)) return null;
  const parts = keyIn(file);
  if (parts !== null && !store.secrets().some((secret) => isValidSecretOf(parts, secret, now))) return null;
  const keyId = parts?.id ?? null;
  return { file, keyId, removable: store.keys().some((key) => key.id !== keyId && isAdminKey(key, now)) };
}

/** Warns of a key in initial.key: it has all scopes, never expires, and is stored in clear text. */
export function reportInitialKey(found: InitialKey | null, network: string, log: Log): void {
  if (found === null) return;
  const { file, keyId, removable } = found;
  if (removable)
    log.warn('initial.key still holds a key with all scopes: revoke it (obverse key revoke ID)', { file, keyId });
  else if (network === 'main')
    log.warn('the only admin key lies in initial.key: create keys of your own (obverse key create), then revoke it', {
      file,
      keyId,
    });
}

/** Removes initial.key where it holds a secret of this key; no such secret is valid any longer. */
export function removeInitialKey(networkDir: string, keyId: string): void {
  const file = initialKeyFile(networkDir);
  if (keyIn(file)?.id === keyId) rmSync(file, { force: true });
}

function isValidSecretOf({ id, secret }: KeyParts, { keyId, hash, validUntil }: KeySecret, now: number): boolean {
  return keyId === id && (validUntil === null || validUntil > now) && equalBytes(hash, secretHash(secret));
}

function keyIn(file: string): KeyParts | null {
  try {
    return parseApiKey(readFileSync(file, 'utf8').trim());
  } catch {
    return null;
  }
}
