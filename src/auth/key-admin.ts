import { OperatorError } from '../util/operator-error.ts';
import type { AuthStore, KeyChanges, KeyRecord } from './auth-store.ts';
import { removeInitialKey } from './initial-key.ts';
import { checkKey, isAdminKey, issueKey, type NewKey } from './issue-key.ts';
import { makeKey, secretHash } from './key-format.ts';

export type KeyProblem = 'unknown' | 'invalid' | 'revoked' | 'last_admin' | 'too_many';

/** A change of keys is refused. The message gives the reason and the remedy. */
export class KeyError extends OperatorError {
  readonly problem: KeyProblem;

  constructor(problem: KeyProblem, message: string) {
    super(message);
    this.problem = problem;
  }
}

/** A newly created key or secret; `key` is shown only this once. */
export interface IssuedKey {
  readonly key: string;
  readonly record: KeyRecord;
}

export interface KeyAdminOptions {
  readonly store: AuthStore;
  /** The directory that may hold initial.key; null without one. */
  readonly networkDir: string | null;
  /** Unix seconds. */
  now(): number;
}

const MAX_KEYS = 10_000;
/** Maximum number of valid secrets of one key. */
const MAX_SECRETS = 8;

/** All changes of keys, for the command line and for JSON-RPC. Throws KeyError. */
export class KeyAdmin {
  readonly #options: KeyAdminOptions;

  constructor(options: KeyAdminOptions) {
    this.#options = options;
  }

  list(): KeyRecord[] {
    return this.#options.store.keys();
  }

  get(id: string): KeyRecord {
    return (
      this.list().find((key) => key.id === id) ??
      refuse('unknown', `there is no key ${shown(id)}; obverse key list shows all of them`)
    );
  }

  create(request: NewKey): IssuedKey {
    const { store } = this.#options;
    this.#checkExpiry(request.expiresAt ?? null);
    return store.transaction(() => {
      if (this.list().length >= MAX_KEYS) refuse('too_many', `there are ${MAX_KEYS} keys already`);
      return asKeyError(() => issueKey(store, { ...request, scopes: unique(request.scopes) }, this.#options.now()));
    });
  }

  /**
   * Gives a key another secret; those it has stay valid for `overlap` seconds. Without an overlap initial.key is removed
   * where it held one of them.
   */
  rotate(id: string, overlap: number): IssuedKey & { readonly oldValidUntil: number } {
    const { store, networkDir } = this.#options;
    const now = this.#options.now();
    const rotated = store.transaction(() => {
      const record = this.#unrevoked(id);
      const valid = store
        .secrets()
        .filter(({ keyId, validUntil }) => keyId === id && (validUntil === null || validUntil > now));
      if (overlap > 0 && valid.length >= MAX_SECRETS)
        refuse('too_many', `${id} has ${MAX_SECRETS} valid secrets already: rotate it without overlap`);
      const { text, parts } = makeKey(id);
      const oldValidUntil = now + overlap;
      store.rotateKey(id, secretHash(parts.secret), oldValidUntil, now);
      return { key: text, record, oldValidUntil };
    });
    if (overlap === 0 && networkDir !== null) removeInitialKey(networkDir, id);
    return rotated;
  }

  /** Revokes a key permanently, and removes initial.key where it holds that key. */
  revoke(id: string, { force }: { readonly force: boolean }): KeyRecord {
    const { store, networkDir } = this.#options;
    const record = store.transaction(() => {
      const key = this.get(id);
      if (!force && key.revokedAt === null) this.#checkAdminLeft(key);
      store.revokeKey(id, this.#options.now());
      return this.get(id);
    });
    if (networkDir !== null) removeInitialKey(networkDir, id);
    return record;
  }

  change(id: string, changes: KeyChanges, { force }: { readonly force: boolean }): KeyRecord {
    const { store } = this.#options;
    return store.transaction(() => {
      const key = this.#unrevoked(id);
      const scopes = changes.scopes && unique(changes.scopes);
      const wanted = { ...changes, ...(scopes && { scopes }) };
      if (changes.expiresAt != null) this.#checkExpiry(changes.expiresAt);
      asKeyError(() => checkKey({ ...key, ...wanted }));
      const ends = changes.expiresAt != null || (scopes && !scopes.includes('admin'));
      if (ends && !force) this.#checkAdminLeft(key);
      store.changeKey(id, wanted);
      return this.get(id);
    });
  }

  /** Whether no other key with the scope admin is valid now. */
  isLastAdmin(key: KeyRecord): boolean {
    const now = this.#options.now();
    return isAdminKey(key, now) && !this.list().some((other) => other.id !== key.id && isAdminKey(other, now));
  }

  #checkAdminLeft(key: KeyRecord): void {
    if (this.isLastAdmin(key))
      refuse('last_admin', `${key.id} is the last key with the scope admin: create another one first, or use force`);
  }

  #unrevoked(id: string): KeyRecord {
    const key = this.get(id);
    return key.revokedAt === null ? key : refuse('revoked', `${id} is revoked, which cannot be undone`);
  }

  #checkExpiry(at: number | null): void {
    if (at !== null && !(Number.isSafeInteger(at) && at > this.#options.now()))
      refuse('invalid', 'the expiry is not in the future: to end a key now, revoke it');
  }
}

/** Returns a key as JSON without its secret. */
export function keyView(record: KeyRecord) {
  const { id, label, scopes, createdAt, expiresAt, allowedIps, rate, wallets, lastUsedAt, revokedAt } = record;
  return { id, label, scopes, createdAt, expiresAt, allowedIps, rate, wallets, lastUsedAt, revokedAt };
}

/** Returns a new key as JSON with its secret. `key` is null where the secret was written to a file. */
export function issuedKeyView(key: string | null, record: KeyRecord) {
  const { id, label, scopes, createdAt, expiresAt, allowedIps, rate, wallets } = record;
  return { id, key, label, scopes, createdAt, expiresAt, allowedIps, rate, wallets };
}

function refuse(problem: KeyProblem, message: string): never {
  throw new KeyError(problem, message);
}

function asKeyError<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof OperatorError) throw new KeyError('invalid', error.message);
    throw error;
  }
}

function unique(scopes: readonly string[]): string[] {
  return [...new Set(scopes)];
}

/** A mistyped id may be a whole key, whose secret must not appear in an error. */
function shown(id: string): string {
  return /^[a-z2-7]{1,16}$/.test(id) ? id : 'of that id';
}
