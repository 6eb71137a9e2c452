import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SCOPES } from '../http/scopes.ts';
import type { AuthStore, KeyRecord } from './auth-store.ts';
import { isAdminKey } from './issue-key.ts';
import { makeKey, parseKey, secretHash } from './key.ts';

/** The file initial.key, and what should happen to it. */
export interface InitialKey {
  readonly file: string;
  /** null where the file holds no key. */
  readonly keyId: string | null;
  /** Another key with the scope admin is valid: the file and its key can go. */
  readonly removable: boolean;
}

export function initialKeyFile(networkDir: string): string {
  return join(networkDir, 'initial.key');
}

/** On the first start of a node without any key: makes one with all scopes and writes it to initial.key (0600). */
export function issueInitialKey(store: AuthStore, networkDir: string, now: number): string {
  const file = initialKeyFile(networkDir);
  const { text, parts } = makeKey();
  // The file first: a crash in between leaves no key in the store, and the next start writes both again.
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

/** null where there is no such file. */
export function initialKeyOf(networkDir: string, keys: readonly KeyRecord[], now: number): InitialKey | null {
  const file = initialKeyFile(networkDir);
  if (!existsSync(file)) return null;
  const keyId = keyIdIn(file);
  return { file, keyId, removable: keys.some((key) => key.id !== keyId && isAdminKey(key, now)) };
}

/** Removes initial.key where it holds this key, which is no longer valid. */
export function removeInitialKey(networkDir: string, keyId: string): void {
  const file = initialKeyFile(networkDir);
  if (keyIdIn(file) === keyId) rmSync(file, { force: true });
}

function keyIdIn(file: string): string | null {
  try {
    return parseKey(readFileSync(file, 'utf8').trim())?.id ?? null;
  } catch {
    return null;
  }
}
