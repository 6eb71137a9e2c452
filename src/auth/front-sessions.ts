import { ANONYMOUS, type Principal } from '../http/principal.ts';
import type { Scope } from '../http/scopes.ts';
import { sessionHash } from '../http/session-cookie.ts';
import type { Clock } from '../util/clock.ts';
import { limitKey } from '../util/ip-address.ts';
import { type MaybePromise, whenReady } from '../util/maybe-promise.ts';
import type { IssuedCode, SessionIssuer } from './login-codes.ts';
import { type LoginAttempt, type LoginResult, type SessionCalls, SessionKeeper } from './session-keeper.ts';
import type { SessionScope } from './session-scopes.ts';
import type { SessionView } from './sessions.ts';

export interface FrontSessionsOptions {
  /** Attempts to log in of one address in a minute. */
  readonly attemptsPerMinute: number;
  /** The front that owns the sessions; null on that front. */
  readonly owner: SessionCalls | null;
  readonly counters: { login(result: LoginResult['kind']): void };
  /** Resolves when the other fronts have ended these sessions. Only the owner calls it. */
  announceEnded(ids: readonly string[]): Promise<void>;
  /** Called when sessions have ended, after which they no longer stand. */
  onEnded(): void;
}

/** People's sessions as one front sees them: it remembers their principals, so that open connections compare them. */
export class FrontSessions {
  readonly #options: FrontSessionsOptions;
  /** Null where another front owns the sessions. */
  readonly #keeper: SessionKeeper | null;
  readonly #calls: SessionCalls;
  /** By id. The owner bounds the number of sessions, and announces their ends. */
  readonly #principals = new Map<string, Principal>();
  #announced: Promise<void> = Promise.resolve();

  constructor(clock: Clock, options: FrontSessionsOptions) {
    const { owner, counters, attemptsPerMinute: perMinute } = options;
    this.#options = options;
    const onEnded = (ids: readonly string[]) => {
      this.forgetSessions(ids);
      this.#announced = options.announceEnded(ids);
    };
    const count = (result: LoginResult['kind']) => counters.login(result);
    this.#keeper = owner ? null : new SessionKeeper(clock, { perMinute, onEnded, count });
    this.#calls = owner ?? this.#keeper!;
  }

  /** Number of open sessions; null on a front that does not own them. */
  get size(): number | null {
    return this.#keeper?.size ?? null;
  }

  createLoginCode(issuer: SessionIssuer, scopes: readonly SessionScope[]): MaybePromise<IssuedCode> {
    return this.#calls.createLoginCode(issuer, scopes);
  }

  /** `cookie` is the one that the browser has now. */
  logIn(code: string, ip: string, cookie: string | null): MaybePromise<LoginResult> {
    return this.#calls.logIn({ code, address: limitKey(ip), replaces: cookie && sessionHash(cookie) });
  }

  /** Compares a code for another front. */
  answerLogIn(attempt: LoginAttempt): MaybePromise<LoginResult> {
    return this.#calls.logIn(attempt);
  }

  /** Returns the principal of a cookie and counts a request; null if its session has ended. */
  useCookie(cookie: string): MaybePromise<Principal | null> {
    const hash = sessionHash(cookie);
    if (hash === null) return null;
    return whenReady(this.useSession(hash), (session) => session && this.#principalOf(session));
  }

  useSession(hash: string): MaybePromise<SessionView | null> {
    return this.#calls.useSession(hash);
  }

  sessionOfId(id: string): MaybePromise<SessionView | null> {
    return this.#calls.sessionOfId(id);
  }

  /** Returns the principal of a session that is open; null for another id. */
  principalOfId(id: string): MaybePromise<Principal | null> {
    return whenReady(this.sessionOfId(id), (session) => session && this.#principalOf(session));
  }

  /** Whether the session of a principal is open, as far as this front knows. */
  isOpen(principal: Principal): boolean {
    return this.#principals.get(principal.id) === principal;
  }

  /** Whether an id is that of an open session; null on a front that does not own them. */
  knowsId(id: string): boolean | null {
    return this.#keeper && this.#keeper.sessionOfId(id) !== null;
  }

  /** Ends a session on all fronts. Resolves with whether it was open. */
  async endSession(id: string): Promise<boolean> {
    const wasOpen = await this.#calls.endSession(id);
    if (this.#keeper) await this.#announced;
    return wasOpen;
  }

  /** Ends codes and sessions whose time is over or whose issuer is no longer valid, on the front that owns them. */
  checkIssuers(isLive: (issuer: SessionIssuer) => boolean): void {
    this.#keeper?.checkIssuers(isLive);
  }

  /** Closes what belongs to sessions that have ended. */
  forgetSessions(ids: readonly string[]): void {
    for (const id of ids) this.#principals.delete(id);
    this.#options.onEnded();
  }

  #principalOf({ id, scopes }: SessionView): Principal {
    let principal = this.#principals.get(id);
    if (!principal) {
      const readsAdmin = scopes.includes('admin');
      // In the set of scopes, admin would include all others.
      const held = new Set<Scope>(scopes.filter((scope) => scope !== 'admin'));
      principal = { ...ANONYMOUS, kind: 'session', id, scopes: held, ...(readsAdmin && { readsAdmin }) };
      this.#principals.set(id, principal);
    }
    return principal;
  }
}
