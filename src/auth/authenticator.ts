import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ApiError, fail } from '../http/errors.ts';
import type { ApiOptions } from '../http/options.ts';
import { ANONYMOUS, type Principal } from '../http/principal.ts';
import { SCOPES } from '../http/scopes.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import { limitKey } from '../util/ip-address.ts';
import type { Log } from '../util/log.ts';
import { type MaybePromise, whenReady } from '../util/maybe-promise.ts';
import { OperatorError } from '../util/operator-error.ts';
import { AuthStore } from './auth-store.ts';
import { BasicAuth, type BasicCredentials, equalSecret, readBasic } from './basic.ts';
import type { Client } from './client-address.ts';
import { FrontSessions } from './front-sessions.ts';
import { FrontTickets } from './front-tickets.ts';
import { initialKeyFile, initialKeyOf, issueInitialKey, reportInitialKey } from './initial-key.ts';
import { KeyAdmin } from './key-admin.ts';
import { type CallerStanding, KeyFollowers, SESSION_ENDED } from './key-followers.ts';
import { parseApiKey } from './key-format.ts';
import { type KeyMatch, Keyring } from './keyring.ts';
import { type Attempt, type Outcome, PasswordGate } from './password-gate.ts';
import { type FailureCounts, FailureTable, type RateBucket } from './rate-limits.ts';
import type { LoginResult } from './session-keeper.ts';
import type { PasswordAttempt, SharedAuth, TicketCheck } from './shared-auth.ts';
import type { TicketOwner } from './tickets.ts';

const STATIC_KEY_MIN = 16;
const STATIC_KEY_ADVISED = 32;
/** Interval of checks for key changes by other processes, which take effect within two of these. */
const REFRESH_MS = 1000;
const REFRESHES_PER_FLUSH = 60;

const STATIC_PRINCIPAL: Principal = { ...ANONYMOUS, kind: 'static', id: 'static', scopes: new Set(SCOPES) };

/** The reason why a request is refused. */
export interface AuthRefusal {
  readonly ok: false;
  readonly error: ApiError;
}

/** The principal of a request, or the reason why it is refused. */
export type Authentication =
  | { readonly ok: true; readonly principal: Principal; readonly bucket: RateBucket | null }
  | AuthRefusal;

/** The source of credentials. */
export interface Caller extends Pick<Client, 'ip'> {
  /** Its signal aborts when the client disconnects. */
  readonly request: Pick<Request, 'signal'>;
}

export interface AuthCounters {
  authFailure(kind: FailureKind | 'ip'): void;
  /** Counts a password that was not known to be right. */
  password(result: 'right' | 'wrong' | 'dropped'): void;
  /** Counts an attempt to log in with a code. */
  login(result: LoginResult['kind']): void;
}

type FailureKind = 'missing' | 'bearer' | 'basic' | 'ticket' | 'session';

/** Authenticates requests: API keys, the static key, and HTTP Basic where it is enabled. */
export class Authenticator {
  readonly #options: ApiOptions;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #counters: AuthCounters;
  readonly #failures: FailureCounts;
  /** Null with one front. */
  readonly #shared: SharedAuth | null;
  readonly #basic: BasicAuth;
  readonly #passwords: PasswordGate<Principal>;
  readonly tickets: FrontTickets;
  /** People's sessions. */
  readonly sessions: FrontSessions;
  readonly #onKeysChanged = new Set<() => void>();
  /** Long requests, which end when their key loses its rights. */
  readonly followers = new KeyFollowers((principal, client) => this.standing(principal, client));
  /** Returns the error for callers while the keys are not known; null otherwise. */
  #storeRefusal: () => ApiError | null = () => null;
  #open: {
    readonly store: AuthStore;
    readonly keyring: Keyring;
    readonly timer: ReturnType<typeof setInterval>;
  } | null = null;

  /** Throws OperatorError when the static key or an rpcauth line cannot be used. */
  constructor(options: ApiOptions, log: Log, clock: Clock, counters: AuthCounters, shared: SharedAuth | null = null) {
    this.#options = options;
    this.#log = log;
    this.#clock = clock;
    this.#counters = counters;
    this.#shared = shared;
    this.#failures = shared?.failures ?? new FailureTable(options.limits.authFailuresPerMinute, clock);
    this.#basic = new BasicAuth(options.auth.rpcUsers, options.auth.cookieWhitelist);
    this.#passwords = new PasswordGate((result) => counters.password(result));
    const { wsTicketsPerKey: perKey, wsTicketsTotal: inAll, loginsPerMinute: attemptsPerMinute } = options.limits;
    const owner = shared?.owner ?? null;
    this.tickets = new FrontTickets(clock, { perKey, inAll }, owner);
    const announceEnded = async (ids: readonly string[]) => shared?.announceEndedSessions(ids);
    const onEnded = () => this.#standingsChanged();
    this.sessions = new FrontSessions(clock, { owner, attemptsPerMinute, counters, announceEnded, onEnded });
    const { staticKey } = options.auth;
    if (staticKey !== null && staticKey.length < STATIC_KEY_MIN)
      throw new OperatorError(`OBVERSE_API_KEY is shorter than ${STATIC_KEY_MIN} characters`);
    if (staticKey !== null && staticKey.length < STATIC_KEY_ADVISED)
      log.warn(`OBVERSE_API_KEY is shorter than ${STATIC_KEY_ADVISED} characters and may be guessed`);
  }

  /** Opens auth.db and writes the cookie. Returns the file of a newly created first key, or null when a key exists. */
  open(): { initialKeyFile: string } | null {
    const { networkDir, extraCookieFiles, auth } = this.#options;
    const store = new AuthStore(join(networkDir, 'auth.db'));
    const keyring = new Keyring(store, this.#clock, this.#shared?.buckets ?? null);
    let written: string | null = null;
    if (keyring.isEmpty && auth.staticKey === null) {
      written = issueInitialKey(store, networkDir, unixSeconds(this.#clock));
      keyring.reload();
      this.#log.info('first start: a key with all scopes was written', { file: written });
    }
    reportInitialKey(initialKeyOf(networkDir, store, unixSeconds(this.#clock)), this.#options.network, this.#log);
    if (auth.basic) this.#basic.writeCookie([join(networkDir, '.cookie'), ...extraCookieFiles]);
    this.#start(store, keyring);
    return written === null ? null : { initialKeyFile: written };
  }

  /** Opens auth.db in a front that is not the first one, which has created the cookie and the first key. */
  openFollowing(): void {
    const store = new AuthStore(join(this.#options.networkDir, 'auth.db'));
    this.#start(store, new Keyring(store, this.#clock, this.#shared?.buckets ?? null));
  }

  /**
   * Opens with the keys of another store than auth.db, without a first key and without a cookie. Who fills the store calls
   * `reloadKeys` after each change. While `refusal` returns an error, callers whose key is not known receive it. `close`
   * closes the store.
   */
  openWith(store: AuthStore, refusal: () => ApiError | null): void {
    this.#storeRefusal = refusal;
    this.#start(store, new Keyring(store, this.#clock, this.#shared?.buckets ?? null));
  }

  #start(store: AuthStore, keyring: Keyring): void {
    let refreshes = 0;
    const timer = setInterval(() => this.#tick(keyring, ++refreshes), REFRESH_MS);
    timer.unref();
    this.#open = { store, keyring, timer };
  }

  /** Sends the pending refusals. From now on only passwords that were right before are accepted. */
  stopWaiting(): void {
    this.#passwords.close();
  }

  close(): void {
    this.stopWaiting();
    if (!this.#open) return;
    clearInterval(this.#open.timer);
    try {
      this.#open.keyring.flushLastUsed();
    } catch (error) {
      // The other parts must stop also where the disk is full or read-only.
      this.#log.warn('the times at which keys were last used cannot be written', { error });
    }
    this.#open.store.close();
    this.#open = null;
    this.#basic.removeCookie();
  }

  /** null until the node is attached. */
  get store(): AuthStore | null {
    return this.#open?.store ?? null;
  }

  /** Management of keys; call `keysChanged` after each change. Throws ApiError until the node is attached. */
  get keys(): KeyAdmin {
    const store = this.#open?.store ?? fail('warming_up', 'the node is starting');
    return new KeyAdmin({ store, networkDir: this.#options.networkDir, now: () => unixSeconds(this.#clock) });
  }

  /** Whether initial.key holds a valid secret, for the metrics; whether the file exists, until the node is attached. */
  get hasInitialKeyFile(): boolean {
    const { networkDir } = this.#options;
    return this.#open
      ? initialKeyOf(networkDir, this.#open.store, unixSeconds(this.#clock)) !== null
      : existsSync(initialKeyFile(networkDir));
  }

  /** Applies changes that were made through `store`, on all fronts. */
  async keysChanged(): Promise<void> {
    this.reloadKeys();
    await this.#shared?.announceKeys();
  }

  /** Applies changes that another front has announced. */
  reloadKeys(): void {
    this.#open?.keyring.reload();
    this.#keysChecked();
  }

  /** Calls the listener about once a second, since keys also expire. Returns a function that unsubscribes it. */
  onKeysChecked(listener: () => void): () => void {
    this.#onKeysChanged.add(listener);
    return () => this.#onKeysChanged.delete(listener);
  }

  /**
   * Returns the present principal of a caller that was authenticated earlier, or the reason why it would be refused
   * now.
   */
  standing(principal: Principal, client: Pick<Client, 'ip'>): CallerStanding {
    if (principal.kind === 'session') return this.sessions.isOpen(principal) ? principal : 'session_ended';
    if (principal.kind !== 'key' || this.#open?.keyring.isUnchanged(principal, client)) return principal;
    const match = this.#open?.keyring.current(principal.id, principal.secretId, client.ip);
    if (!match) return 'key_invalid';
    return match.ipRefused ? 'ip_refused' : match.principal;
  }

  /** Whether stored items of this id still have an owner: a key that is not revoked, or the static key. */
  isOwner(id: string): boolean {
    return id === STATIC_PRINCIPAL.id || this.#open?.keyring.isKept(id) === true;
  }

  /**
   * Returns the present rights of a key, or of the static key; null if it is not valid. They are the same object until the
   * key changes.
   */
  rightsOf(id: string): Pick<Principal, 'scopes' | 'wallets'> | null {
    return id === STATIC_PRINCIPAL.id ? STATIC_PRINCIPAL : (this.#open?.keyring.rightsOf(id) ?? null);
  }

  /** Checks a ticket. `consume` uses it up, and is called when no later check can refuse the request. */
  authenticateTicket(text: string, ip: string): MaybePromise<TicketCheck<Authentication>> {
    // The rights are those of the key now: it may have lost scopes since, and its address restriction still applies.
    const found = whenReady(this.tickets.findTicket(text), (owner) => owner && this.#currentOwner(owner, ip));
    return whenReady(found, (match) => {
      if (!match) return { result: this.#refuse('ticket', ip), consume: () => false };
      return { result: this.#admitted(match), consume: () => this.tickets.consumeTicket(text) };
    });
  }

  /** Checks the cookie of a session. A wrong one does not count against its address: it is older than the last start. */
  authenticateSession(cookie: string): MaybePromise<Authentication> {
    return whenReady(this.sessions.useCookie(cookie), (principal) =>
      principal ? admit(principal) : this.#refuse('session', null),
    );
  }

  /** Compares a password for another front. */
  checkPassword(attempt: PasswordAttempt, signal: AbortSignal): Promise<Outcome<Principal>> {
    const guess = this.#guessOf(attempt);
    const { address } = attempt;
    return guess ? this.#passwords.check({ ...guess, address, signal }) : this.#passwords.refuse(address);
  }

  /** `authorization` is the value of the header; `basicClient` is null where HTTP Basic is disabled. */
  authenticate(authorization: string | null, caller: Caller, basicClient: Client | null): MaybePromise<Authentication> {
    if (authorization === null) return this.#refuse('missing', null);
    // The keyring remembers bare keys as well, and a header without a scheme is no credential.
    const hasScheme = authorization.includes(' ');
    const verified = hasScheme ? this.#open?.keyring.matchVerified(authorization, caller) : null;
    if (verified) return this.#admitted(verified);
    const login = basicClient && this.#basic.verified(authorization, basicClient);
    if (login) return admit(login);
    const [, scheme, credentials] = /^(\S+) +(\S+) *$/.exec(authorization) ?? [];
    switch (scheme?.toLowerCase()) {
      case 'bearer':
        return this.#remembered(authorization, this.bearer(credentials!, caller));
      case 'basic':
        if (!basicClient || !this.#options.auth.basic) break;
        return whenReady(this.#checkBasic(readBasic(credentials!), caller, basicClient), (result) => {
          if (result.ok) this.#basic.remember(authorization, basicClient, result.principal);
          return result;
        });
    }
    return this.#refuse('bearer', caller.ip);
  }

  /** Remembers a header with a valid key, so that one hash verifies the next request with it. */
  #remembered(authorization: string, result: MaybePromise<Authentication>): MaybePromise<Authentication> {
    if (!(result instanceof Promise) && result.ok && result.principal.kind === 'key')
      this.#open?.keyring.remember(authorization, result.principal);
    return result;
  }

  /** Checks one key from a header or a subprotocol. */
  bearer(text: string, caller: Caller): MaybePromise<Authentication> {
    const { staticKey } = this.#options.auth;
    const match = this.#open?.keyring.match(text, caller);
    if (match) return this.#admitted(match);
    // 256 random bits cannot be guessed. OBVERSE_API_KEY may have this form as well.
    if (parseApiKey(text)) {
      const principal = this.#compareStaticKey(text);
      return principal ? admit(principal) : this.#refuse('bearer', caller.ip);
    }
    const address = limitKey(caller.ip);
    const attempt =
      staticKey === null ? { kind: 'none' as const, address } : { kind: 'bearer' as const, text, address };
    return this.#checkGuess('bearer', attempt, caller);
  }

  #compareStaticKey(text: string): Principal | null {
    const { staticKey } = this.#options.auth;
    return staticKey !== null && equalSecret(text, staticKey) ? STATIC_PRINCIPAL : null;
  }

  #checkBasic(credentials: BasicCredentials, caller: Caller, client: Client): MaybePromise<Authentication> {
    const address = limitKey(caller.ip);
    return this.#checkGuess('basic', { kind: 'basic', ...credentials, isLocal: client.isLocal(), address }, caller);
  }

  /** Returns how an attempt is compared; null for one that cannot be right. */
  #guessOf(attempt: PasswordAttempt): Pick<Attempt<Principal>, 'user' | 'text' | 'compare'> | null {
    if (attempt.kind === 'none') return null;
    if (attempt.kind === 'bearer') {
      const { text } = attempt;
      return { user: '', text: `bearer ${text}`, compare: () => this.#compareStaticKey(text) };
    }
    const { user, password, isLocal } = attempt;
    const compare = () => this.#basic.check({ user, password }, { isLocal: () => isLocal });
    // Only local clients may use the cookie, so remote clients must not share their result.
    return { user, text: `basic ${isLocal ? 'local' : 'remote'} ${user}:${password}`, compare };
  }

  #checkGuess(
    kind: 'bearer' | 'basic',
    attempt: PasswordAttempt,
    { ip, request }: Caller,
  ): MaybePromise<Authentication> {
    const guess = this.#guessOf(attempt);
    const known = guess && this.#passwords.known(guess.text);
    if (known) return admit(known);
    const { owner } = this.#shared ?? NOT_SHARED;
    const outcome = (owner ?? this).checkPassword(attempt, request.signal);
    return outcome.then((result) => {
      if (owner && guess && result.kind === 'right') this.#passwords.remember(guess.text, result.value);
      if (result.kind === 'right') return admit(result.value);
      const refused = this.#refuse(kind, ip, result.kind === 'dropped');
      return result.closing ? { ...refused, error: closing(refused.error) } : refused;
    });
  }

  #currentOwner(owner: TicketOwner, ip: string): MaybePromise<KeyMatch | null> {
    if (!isSessionId(owner.id)) return this.#currentOf(owner, ip);
    return whenReady(
      this.sessions.principalOfId(owner.id),
      (principal) => principal && { principal, bucket: null, ipRefused: false },
    );
  }

  /** Whether the owner of a ticket, or the issuer of a session, is still valid. */
  #isLive(owner: TicketOwner): boolean {
    return isSessionId(owner.id) ? this.sessions.knowsId(owner.id) === true : this.#currentOf(owner, '') !== null;
  }

  /** A session ends with its issuer, and when that one could no longer make its code. */
  #mayIssueSessions(issuer: TicketOwner | null): boolean {
    return issuer === null || this.#currentOf(issuer, '')?.principal.scopes.has('admin') === true;
  }

  #currentOf({ id, secretId }: TicketOwner, ip: string): KeyMatch | null {
    if (id !== STATIC_PRINCIPAL.id) return this.#open?.keyring.current(id, secretId, ip) ?? null;
    return { principal: STATIC_PRINCIPAL, bucket: null, ipRefused: false };
  }

  #admitted({ principal, bucket, ipRefused }: KeyMatch): Authentication {
    if (!ipRefused) return { ok: true, principal, bucket };
    this.#counters.authFailure('ip');
    return refusal(new ApiError('ip_not_allowed', 'this key may not be used from this address'));
  }

  /**
   * Only wrong credentials count against an address; a request without credentials does not. `unchecked` passwords were
   * not compared because too many came.
   */
  #refuse(kind: FailureKind, ip: string | null, unchecked = false): AuthRefusal {
    const unavailable = kind === 'missing' ? null : this.#storeRefusal();
    if (unavailable) return refusal(unavailable);
    this.#counters.authFailure(kind);
    const counted = ip === null ? 0 : this.#failures.record(limitKey(ip));
    const retryAfter = unchecked ? Math.max(1, counted) : counted;
    if (retryAfter > 0)
      return refusal(new ApiError('rate_limited', 'too many failed authentications', { scope: 'auth', retryAfter }));
    return refusal(
      kind === 'missing'
        ? new ApiError('missing_credentials', 'this needs a key')
        : new ApiError('invalid_credentials', kind === 'session' ? SESSION_ENDED : 'the credentials are not valid'),
    );
  }

  #tick(keyring: Keyring, refreshes: number): void {
    try {
      keyring.refresh();
      if (refreshes % REFRESHES_PER_FLUSH === 0) keyring.flushLastUsed();
    } catch (error) {
      this.#log.error('auth.db cannot be read', { error });
    }
    this.#keysChecked();
  }

  #keysChecked(): void {
    this.sessions.checkIssuers((issuer) => this.#mayIssueSessions(issuer));
    this.#standingsChanged();
  }

  #standingsChanged(): void {
    this.tickets.checkOwners((owner) => this.#isLive(owner));
    this.followers.check();
    for (const listener of this.#onKeysChanged) listener();
  }
}

const NOT_SHARED = { owner: null };

function isSessionId(id: string): boolean {
  return id.startsWith('session:');
}

function admit(principal: Principal): Authentication {
  return { ok: true, principal, bucket: null };
}

function refusal(error: ApiError): AuthRefusal {
  return { ok: false, error };
}

/** Returns the same refusal with an instruction to close the connection. */
function closing({ failure, message, details, headers }: ApiError): ApiError {
  return new ApiError(failure, message, details, { ...headers, connection: 'close' });
}
