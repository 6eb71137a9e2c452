import { isScope, SCOPES } from '../http/scopes.ts';
import { isPathName } from '../util/file-name.ts';
import { parseIpSubnet } from '../util/ip-address.ts';
import { OperatorError } from '../util/operator-error.ts';
import type { AuthStore, KeyRecord } from './auth-store.ts';
import { makeKey, secretHash } from './key-format.ts';

export interface NewKey {
  readonly label: string;
  readonly scopes: readonly string[];
  /** Unix seconds. */
  readonly expiresAt?: number | null;
  readonly allowedIps?: readonly string[] | null;
  readonly rate?: KeyRecord['rate'];
  readonly wallets?: readonly string[] | null;
}

const MAX_LABEL = 128;
const MAX_LIST = 100;
const MAX_RATE = 1_000_000;
/** Control characters would let a label rewrite a terminal. */
const LABEL = /^\P{Cc}*$/u;

/**
 * Creates a key and stores its hash; `key` is returned only here. Throws OperatorError for members that a key cannot
 * have.
 */
export function issueKey(store: AuthStore, request: NewKey, now: number): { key: string; record: KeyRecord } {
  checkKey(request);
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
    wallets: request.wallets ?? null,
    lastUsedAt: null,
  };
  store.createKey(record, secretHash(parts.secret));
  return { key: text, record };
}

/** Throws OperatorError that names the wrong value and the allowed ones. */
export function checkKey({ label, scopes, allowedIps = null, rate = null, wallets = null }: NewKey): void {
  if ([...label].length > MAX_LABEL || !LABEL.test(label))
    throw new OperatorError(`a label has at most ${MAX_LABEL} characters and no control characters`);
  const unknown = scopes.find((scope) => !isScope(scope));
  if (unknown !== undefined) throw new OperatorError(`unknown scope '${unknown}': the scopes are ${SCOPES.join(', ')}`);
  if (scopes.length === 0) throw new OperatorError('a key needs at least one scope');
  checkList('allowedIps', allowedIps);
  const badIp = allowedIps?.find((subnet) => !parseIpSubnet(subnet));
  if (badIp !== undefined)
    throw new OperatorError(`'${badIp}' is no address or subnet, such as 10.1.2.3, 10.0.0.0/8 or 2001:db8::/32`);
  checkList('wallets', wallets);
  const badWallet = wallets?.find((name) => !isPathName(name));
  if (badWallet !== undefined) throw new OperatorError(`'${badWallet}' is not a name that a wallet can have`);
  if (wallets !== null && scopes.includes('admin'))
    throw new OperatorError('a key with the scope admin cannot be bound to wallets: it could make itself another key');
  if (rate === null) return;
  const { perSecond, burst } = rate;
  if (!(perSecond > 0 && perSecond <= MAX_RATE) || !(Number.isInteger(burst) && burst >= 1 && burst <= MAX_RATE))
    throw new OperatorError(
      `a rate is above 0 and at most ${MAX_RATE} calls a second, its burst an integer from 1 to ${MAX_RATE}`,
    );
}

/** Whether a key is valid and has the scope admin. */
export function isAdminKey({ scopes, revokedAt, expiresAt }: KeyRecord, now: number): boolean {
  return scopes.includes('admin') && revokedAt === null && (expiresAt === null || now < expiresAt);
}

function checkList(name: string, list: readonly string[] | null): void {
  if (list === null) return;
  if (list.length === 0) throw new OperatorError(`${name} must not be empty: leave it out for no restriction`);
  if (list.length > MAX_LIST) throw new OperatorError(`${name} holds more than ${MAX_LIST} entries`);
}
