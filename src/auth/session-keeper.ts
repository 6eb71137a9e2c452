import type { Clock } from '../util/clock.ts';
import type { MaybePromise } from '../util/maybe-promise.ts';
import { type IssuedCode, LoginCodes, type SessionIssuer } from './login-codes.ts';
import { MinuteTable } from './rate-limits.ts';
import type { SessionScope } from './session-scopes.ts';
import { Sessions, type SessionView } from './sessions.ts';

/** A code that a browser has sent. */
export interface LoginAttempt {
  readonly code: string;
  /** The address that the attempt is counted for. */
  readonly address: string;
  /** Hash of the cookie that the browser has now, whose session the new one replaces; null without one. */
  readonly replaces: string | null;
}

export type LoginResult =
  | { readonly kind: 'ok'; readonly cookie: string; readonly maxAge: number; readonly session: SessionView }
  | { readonly kind: 'wrong' }
  | { readonly kind: 'limited'; readonly retryAfter: number };

/** Everything that exists once for all fronts of people's sessions. */
export interface SessionCalls {
  createLoginCode(issuer: SessionIssuer, scopes: readonly SessionScope[]): MaybePromise<IssuedCode>;
  logIn(attempt: LoginAttempt): MaybePromise<LoginResult>;
  /** Returns the session of a cookie by its hash, and counts a request. */
  useSession(hash: string): MaybePromise<SessionView | null>;
  sessionOfId(id: string): MaybePromise<SessionView | null>;
  /** Resolves with whether the session was open, once it has ended on all fronts. */
  endSession(id: string): MaybePromise<boolean>;
}

/** Codes, sessions and attempts to log in, on the front that owns them. */
export class SessionKeeper implements SessionCalls {
  readonly #codes: LoginCodes;
  readonly #sessions: Sessions;
  /** Attempts of each address, right and wrong ones alike. */
  readonly #attempts: MinuteTable;
  readonly #count: (result: LoginResult['kind']) => void;

  constructor(
    clock: Clock,
    {
      perMinute,
      onEnded,
      count,
    }: {
      /** Attempts of one address in a minute. */
      readonly perMinute: number;
      readonly onEnded: (ids: readonly string[]) => void;
      readonly count: (result: LoginResult['kind']) => void;
    },
  ) {
    this.#codes = new LoginCodes(clock);
    this.#sessions = new Sessions(clock, onEnded);
    this.#attempts = new MinuteTable(perMinute, clock);
    this.#count = count;
  }

  /** Number of open sessions. */
  get size(): number {
    return this.#sessions.size;
  }

  createLoginCode(issuer: SessionIssuer, scopes: readonly SessionScope[]): IssuedCode {
    return this.#codes.issueCode(issuer, scopes);
  }

  logIn(attempt: LoginAttempt): LoginResult {
    const result = this.#logIn(attempt);
    this.#count(result.kind);
    return result;
  }

  useSession(hash: string): SessionView | null {
    return this.#sessions.useSession(hash);
  }

  sessionOfId(id: string): SessionView | null {
    return this.#sessions.sessionOfId(id);
  }

  endSession(id: string): boolean {
    return this.#sessions.endSession(id);
  }

  /** Ends codes and sessions whose time is over or whose issuer is no longer valid. */
  checkIssuers(isLive: (issuer: SessionIssuer) => boolean): void {
    this.#codes.checkIssuers(isLive);
    this.#sessions.checkIssuers(isLive);
  }

  #logIn({ code, address, replaces }: LoginAttempt): LoginResult {
    const retryAfter = this.#attempts.count(address, { countsRefused: false });
    if (retryAfter > 0) return { kind: 'limited', retryAfter };
    const grant = this.#codes.consumeCode(code);
    if (!grant) return { kind: 'wrong' };
    const before = replaces && this.#sessions.useSession(replaces);
    if (before) this.#sessions.endSession(before.id);
    return { kind: 'ok', ...this.#sessions.openSession(grant) };
  }
}
