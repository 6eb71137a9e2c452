import { randomBytes } from 'node:crypto';
import { base32crockford, base32nopad } from '@scure/base';
import { sha256 } from '../crypto/hash-functions.ts';
import type { Principal } from '../http/principal.ts';
import { type Clock, type Moment, momentOf, msSince } from '../util/clock.ts';
import { heldScopes, type SessionScope } from './session-scopes.ts';

/** The reply to a request for a code; the code itself is not stored. */
export interface IssuedCode {
  /** The id of the session that the code opens, by which the audit log names it. */
  readonly id: string;
  readonly code: string;
  /** Unix seconds. */
  readonly expiresAt: number;
  readonly scopes: readonly SessionScope[];
}

/** The key that a code was made with, whose end ends the session too; null for other credentials, which do not change. */
export type SessionIssuer = Pick<Principal, 'id' | 'secretId'> | null;

/** The session that a code opens. */
export interface CodeGrant {
  readonly id: string;
  readonly issuer: SessionIssuer;
  readonly scopes: readonly SessionScope[];
}

interface Kept extends CodeGrant {
  readonly at: Moment;
}

const LIFETIME_MS = 10 * 60_000;
/** Unused codes that are kept. At the limit the oldest one ends. */
const MAX_CODES = 100;
/** 80 random bits: 16 characters. */
const CODE_BYTES = 10;
const ID_BYTES = 7;
const GROUP = /.{4}(?=.)/g;

/**
 * One-time codes that open a session each. Only hashes are stored and looked up, so the time of a look-up reveals nothing
 * about valid codes.
 */
export class LoginCodes {
  readonly #clock: Clock;
  /** By hash, oldest first. */
  readonly #open = new Map<string, Kept>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  issueCode(issuer: SessionIssuer, asked: readonly SessionScope[]): IssuedCode {
    this.#expire();
    if (this.#open.size >= MAX_CODES) this.#open.delete(this.#open.keys().next().value!);
    const text = base32crockford.encode(randomBytes(CODE_BYTES));
    const id = `session:${base32nopad.encode(randomBytes(ID_BYTES)).toLowerCase().slice(0, 10)}`;
    const scopes = heldScopes(asked);
    this.#open.set(hashOf(text), { id, issuer, scopes, at: momentOf(this.#clock) });
    const expiresAt = Math.floor((this.#clock.nowMs() + LIFETIME_MS) / 1000);
    return { id, code: text.replace(GROUP, '$&-'), expiresAt, scopes };
  }

  /** Uses up a code. Returns null for a text that is not a valid code. */
  consumeCode(text: string): CodeGrant | null {
    this.#expire();
    const hash = hashOf(asTyped(text));
    const kept = this.#open.get(hash);
    if (!kept) return null;
    this.#open.delete(hash);
    const { id, issuer, scopes } = kept;
    return { id, issuer, scopes };
  }

  /** Ends the codes whose issuer is no longer valid. */
  checkIssuers(isLive: (issuer: SessionIssuer) => boolean): void {
    for (const [hash, { issuer }] of this.#open) if (!isLive(issuer)) this.#open.delete(hash);
  }

  #expire(): void {
    for (const [hash, { at }] of this.#open) if (msSince(at, this.#clock) >= LIFETIME_MS) this.#open.delete(hash);
  }
}

/** Returns a code as it was issued: any case, with or without dashes, and the letters that Crockford reads as digits. */
function asTyped(text: string): string {
  return text.toUpperCase().replaceAll(/[\s-]/g, '').replaceAll('O', '0').replaceAll(/[IL]/g, '1');
}

function hashOf(code: string): string {
  return sha256(new TextEncoder().encode(code)).toHex();
}
