import { writeFileSync } from 'node:fs';
import type { AuthStore, KeyRecord } from '../../storage/auth-store.ts';
import { OperatorError } from '../../util/operator-error.ts';
import { parseSubnet } from './ip.ts';
import { makeKey, secretHash } from './key.ts';
import { isScope, SCOPES } from './scopes.ts';

export interface NewKey {
  readonly label: string;
  readonly scopes: readonly string[];
  /** Unix seconds. */
  readonly expiresAt?: number | null;
  readonly allowedIps?: readonly string[] | null;
  readonly rate?: KeyRecord['rate'];
}

/** Makes a key and stores its hash; `key` is shown this once. Throws OperatorError on an unknown scope or a bad subnet. */
export function issueKey(store: AuthStore, request: NewKey, now: number): { key: string; record: KeyRecord } {
  const unknown = request.scopes.find((scope) => !isScope(scope));
  if (unknown !== undefined) throw new OperatorError(`unknown scope '${unknown}': the scopes are ${SCOPES.join(', ')}`);
  if (request.scopes.length === 0) throw new OperatorError('a key needs at least one scope');
  const badIp = request.allowedIps?.find((subnet) => !parseSubnet(subnet));
  if (badIp !== undefined) throw new OperatorError(`'${badIp}' is no address or subnet`);
  const { text, parts } = makeKey();
  const record: KeyRecord = {
    id: parts.id,
    label: request.label,
    scopes: request.scopes,
    createdAt: now,
    expiresAt: request.expiresAt ?? null,
    revokedAt: null,
    allowedIps: request.allowedIps ?? null,
    rate: request.rate ?? null,
    lastUsedAt: null,
  };
  store.createKey(record, secretHash(parts.secret));
  return { key: text, record };
}

/** On the first start of a node without any key: makes one with all scopes and writes it to `file` (0600). */
export function issueInitialKey(store: AuthStore, file: string, now: number): string {
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
    lastUsedAt: null,
  };
  store.createKey(record, secretHash(parts.secret));
  return text;
}
