import { randomBytes } from 'node:crypto';
import { sessionHash } from '../http/session-cookie.ts';
import { type Clock, type Moment, momentOf, msSince } from '../util/clock.ts';
import type { CodeGrant, SessionIssuer } from './login-codes.ts';
import type { SessionScope } from './session-scopes.ts';

/** A session, as its page and all fronts see it. Times are Unix seconds. */
export interface SessionView {
  /** `session:` and ten characters. */
  readonly id: string;
  readonly scopes: readonly SessionScope[];
  readonly expiresAt: number;
  /** The time at which the session ends if no further request is made. */
  readonly idleExpiresAt: number;
}

interface Kept extends CodeGrant {
  readonly begunAt: Moment;
  readonly lifetimeMs: number;
  usedAt: Moment;
}

const IDLE_MS = 30 * 60_000;
const LIFETIME_MS = 8 * 3600_000;
const ADMIN_LIFETIME_MS = 30 * 60_000;
/** Open sessions. At the limit the one whose last request is the oldest ends. */
const MAX_SESSIONS = 100;
const COOKIE_BYTES = 32;

/**
 * The open sessions of people's browsers, in memory alone. Only hashes of cookies are stored and looked up, so neither the
 * memory nor the time of a look-up reveals a cookie.
 */
export class Sessions {
  readonly #clock: Clock;
  readonly #onEnded: (ids: readonly string[]) => void;
  /** By the hash of the cookie, in the order of their last requests. */
  readonly #open = new Map<string, Kept>();
  readonly #hashes = new Map<string, string>();

  /** `onEnded` is called with the ids of sessions that have ended, for whatever reason. */
  constructor(clock: Clock, onEnded: (ids: readonly string[]) => void) {
    this.#clock = clock;
    this.#onEnded = onEnded;
  }

  get size(): number {
    this.#expire();
    return this.#open.size;
  }

  /** Opens the session of a code, and returns its cookie, which is not stored. */
  openSession(grant: CodeGrant): { cookie: string; maxAge: number; session: SessionView } {
    this.#expire();
    if (this.#open.size >= MAX_SESSIONS) this.#end(this.#open.keys().next().value!);
    const cookie = randomBytes(COOKIE_BYTES).toString('base64url');
    const hash = sessionHash(cookie)!;
    const lifetimeMs = grant.scopes.includes('admin') ? ADMIN_LIFETIME_MS : LIFETIME_MS;
    const now = momentOf(this.#clock);
    const kept: Kept = { ...grant, begunAt: now, lifetimeMs, usedAt: now };
    this.#open.set(hash, kept);
    this.#hashes.set(grant.id, hash);
    return { cookie, maxAge: lifetimeMs / 1000, session: viewOf(kept) };
  }

  /** Returns the session of a cookie, by its hash, and counts this as its last request; null if there is none. */
  useSession(hash: string): SessionView | null {
    this.#expire();
    const kept = this.#open.get(hash);
    if (!kept) return null;
    kept.usedAt = momentOf(this.#clock);
    this.#open.delete(hash);
    this.#open.set(hash, kept);
    return viewOf(kept);
  }

  /** Returns the session of an id without counting a request; null if there is none. */
  sessionOfId(id: string): SessionView | null {
    this.#expire();
    const kept = this.#open.get(this.#hashes.get(id) ?? '');
    return kept ? viewOf(kept) : null;
  }

  /** Ends a session. Returns false where it has ended before. */
  endSession(id: string): boolean {
    const hash = this.#hashes.get(id);
    if (hash === undefined) return false;
    this.#end(hash);
    return true;
  }

  /** Ends the sessions whose time is over, or whose issuer is no longer valid. */
  checkIssuers(isLive: (issuer: SessionIssuer) => boolean): void {
    this.#expire();
    this.#endAll(({ issuer }) => !isLive(issuer));
  }

  #expire(): void {
    this.#endAll(
      ({ begunAt, usedAt, lifetimeMs }) =>
        msSince(begunAt, this.#clock) >= lifetimeMs || msSince(usedAt, this.#clock) >= IDLE_MS,
    );
  }

  #endAll(isOver: (kept: Kept) => boolean): void {
    for (const [hash, kept] of this.#open) if (isOver(kept)) this.#end(hash);
  }

  #end(hash: string): void {
    const { id } = this.#open.get(hash)!;
    this.#open.delete(hash);
    this.#hashes.delete(id);
    this.#onEnded([id]);
  }
}

function viewOf({ id, scopes, begunAt, usedAt, lifetimeMs }: Kept): SessionView {
  const endMs = begunAt.nowMs + lifetimeMs;
  return {
    id,
    scopes,
    expiresAt: Math.floor(endMs / 1000),
    idleExpiresAt: Math.floor(Math.min(endMs, usedAt.nowMs + IDLE_MS) / 1000),
  };
}
