import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AuthStore } from '../../storage/auth-store.ts';
import { type Clock, unixSeconds } from '../../util/clock.ts';
import type { Log } from '../../util/log.ts';
import { OperatorError } from '../../util/operator-error.ts';
import type { Principal } from '../context.ts';
import { ApiError, fail } from '../errors.ts';
import type { ApiOptions } from '../options.ts';
import { BasicAuth, equalSecret } from './basic.ts';
import type { Client } from './client-address.ts';
import { initialKeyFile, initialKeyOf, issueInitialKey } from './initial-key.ts';
import { limitKey } from './ip.ts';
import { KeyAdmin } from './key-admin.ts';
import { KeyFollowers, type Standing } from './key-followers.ts';
import { type KeyMatch, Keyring } from './keyring.ts';
import { FailureTable, type TokenBucket } from './limits.ts';
import { SCOPES } from './scopes.ts';
import { type IssuedTicket, type TicketOwner, Tickets } from './tickets.ts';

const STATIC_KEY_MIN = 16;
const STATIC_KEY_ADVISED = 32;
/** Another process's change of a key is seen within two of these. */
const REFRESH_MS = 1000;
const REFRESHES_PER_FLUSH = 60;

export const ANONYMOUS: Principal = {
  kind: 'anonymous',
  id: 'anonymous',
  secretId: null,
  scopes: new Set(),
  wallets: null,
  rpcWhitelist: null,
};
const STATIC_PRINCIPAL: Principal = { ...ANONYMOUS, kind: 'static', id: 'static', scopes: new Set(SCOPES) };

/** Who a request comes from, or why it is refused. `slow`: the refusal is to be held back for a moment. */
export type Authentication =
  | { readonly ok: true; readonly principal: Principal; readonly bucket: TokenBucket | null }
  | { readonly ok: false; readonly error: ApiError; readonly slow: boolean };

export interface AuthCounters {
  authFailure(kind: 'missing' | 'bearer' | 'basic' | 'ticket' | 'ip'): void;
}

/** Decides who asks: bearer keys, the static key, and HTTP Basic where it is allowed. */
export class Authenticator {
  readonly #options: ApiOptions;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #counters: AuthCounters;
  readonly #failures: FailureTable;
  readonly #basic: BasicAuth;
  readonly #tickets: Tickets;
  readonly #onKeysChanged = new Set<() => void>();
  /** Requests that take long, which end with the rights of their key. */
  readonly followers = new KeyFollowers((principal, ip) => this.standing(principal, ip));
  #open: {
    readonly store: AuthStore;
    readonly keyring: Keyring;
    readonly timer: ReturnType<typeof setInterval>;
  } | null = null;

  /** Throws OperatorError when the static key or an rpcauth line is unusable. */
  constructor(options: ApiOptions, log: Log, clock: Clock, counters: AuthCounters) {
    this.#options = options;
    this.#log = log;
    this.#clock = clock;
    this.#counters = counters;
    this.#failures = new FailureTable(options.limits.authFailuresPerMinute, clock);
    this.#basic = new BasicAuth(options.auth.rpcUsers, options.auth.cookieWhitelist);
    const { wsTicketsPerKey, wsTicketsTotal } = options.limits;
    this.#tickets = new Tickets(clock, { perKey: wsTicketsPerKey, inAll: wsTicketsTotal });
    const { staticKey } = options.auth;
    if (staticKey !== null && staticKey.length < STATIC_KEY_MIN)
      throw new OperatorError(`OBVERSE_API_KEY is shorter than ${STATIC_KEY_MIN} characters`);
    if (staticKey !== null && staticKey.length < STATIC_KEY_ADVISED)
      log.warn(`OBVERSE_API_KEY is shorter than ${STATIC_KEY_ADVISED} characters and may be guessed`);
  }

  /** Opens auth.db and writes the cookie. Returns where a first key was written, or null when there was one already. */
  open(): { initialKeyFile: string } | null {
    const { networkDir, extraCookieFiles, auth } = this.#options;
    const store = new AuthStore(join(networkDir, 'auth.db'));
    const keyring = new Keyring(store, this.#clock);
    let written: string | null = null;
    if (keyring.isEmpty && auth.staticKey === null) {
      written = issueInitialKey(store, networkDir, unixSeconds(this.#clock));
      keyring.reload();
      this.#log.info('first start: a key with all scopes was written', { file: written });
    }
    this.#reportInitialKey(store);
    if (auth.basic) this.#basic.writeCookie([join(networkDir, '.cookie'), ...extraCookieFiles]);
    let refreshes = 0;
    const timer = setInterval(() => this.#tick(keyring, ++refreshes), REFRESH_MS);
    timer.unref();
    this.#open = { store, keyring, timer };
    return written === null ? null : { initialKeyFile: written };
  }

  close(): void {
    if (!this.#open) return;
    clearInterval(this.#open.timer);
    this.#open.keyring.flushLastUsed();
    this.#open.store.close();
    this.#open = null;
    this.#basic.removeCookie();
  }

  /** null before the node is attached. */
  get store(): AuthStore | null {
    return this.#open?.store ?? null;
  }

  /** Management of keys; each change is to be followed by `keysChanged`. Throws ApiError before the node is attached. */
  get keys(): KeyAdmin {
    const store = this.#open?.store ?? fail('warming_up', 'the node is starting');
    return new KeyAdmin({ store, networkDir: this.#options.networkDir, now: () => unixSeconds(this.#clock) });
  }

  /** Whether initial.key is there, for the metrics. */
  get hasInitialKeyFile(): boolean {
    return existsSync(initialKeyFile(this.#options.networkDir));
  }

  /** To be called after `store` was used to change a key. */
  keysChanged(): void {
    this.#open?.keyring.reload();
    this.#keysChecked();
  }

  /** Called about once a second, since keys also expire. Returns the function that ends it. */
  onKeysChecked(listener: () => void): () => void {
    this.#onKeysChanged.add(listener);
    return () => this.#onKeysChanged.delete(listener);
  }

  /** A caller that was admitted, as it would be admitted now; a reason where it would be refused. */
  standing(principal: Principal, ip: string): Standing {
    if (principal.kind !== 'key') return principal;
    const match = this.#open?.keyring.current(principal.id, principal.secretId, ip);
    if (!match) return 'key_invalid';
    return match.ipRefused ? 'ip_refused' : match.principal;
  }

  /** Whether what is stored for somebody of this id is still somebody's: a key that is not revoked, or the static one. */
  isOwner(id: string): boolean {
    return id === STATIC_PRINCIPAL.id || this.#open?.keyring.isKept(id) === true;
  }

  /** Throws ApiError where too many tickets are open. */
  issueTicket(principal: Principal): IssuedTicket {
    return this.#tickets.issue(principal);
  }

  /** Checks a ticket; `take` uses it up, and is to be called when nothing else can refuse its bearer. */
  ticket(text: string, ip: string): { readonly result: Authentication; take(): void } {
    const ticket = this.#tickets.find(text);
    // As the key is now: it may have lost scopes since, and one that is bound to addresses stays so.
    const match = ticket && this.#currentOf(ticket.owner, ip);
    if (!match) return { result: this.#refuse('ticket', ip), take() {} };
    return { result: this.#admitted(match), take: () => ticket.take() };
  }

  /** `authorization` is the header's value; `basicClient` is null where HTTP Basic is not allowed. */
  authenticate(authorization: string | null, ip: string, basicClient: Client | null): Authentication {
    if (authorization === null) return this.#refuse('missing', null);
    const [, scheme, credentials] = /^(\S+) +(\S+) *$/.exec(authorization) ?? [];
    switch (scheme?.toLowerCase()) {
      case 'bearer':
        return this.bearer(credentials!, ip);
      case 'basic': {
        if (!basicClient || !this.#options.auth.basic) break;
        const principal = this.#basic.check(credentials!, basicClient);
        return principal ? { ok: true, principal, bucket: null } : this.#refuse('basic', ip);
      }
    }
    return this.#refuse('bearer', ip);
  }

  /** Checks one key, however it was brought. */
  bearer(text: string, ip: string): Authentication {
    const { staticKey } = this.#options.auth;
    if (staticKey !== null && equalSecret(text, staticKey))
      return { ok: true, principal: STATIC_PRINCIPAL, bucket: null };
    const match = this.#open?.keyring.match(text, ip);
    return match ? this.#admitted(match) : this.#refuse('bearer', ip);
  }

  #currentOf({ id, secretId }: TicketOwner, ip: string): KeyMatch | null {
    if (id !== STATIC_PRINCIPAL.id) return this.#open?.keyring.current(id, secretId, ip) ?? null;
    return { principal: STATIC_PRINCIPAL, bucket: null, ipRefused: false };
  }

  #admitted({ principal, bucket, ipRefused }: KeyMatch): Authentication {
    if (!ipRefused) return { ok: true, principal, bucket };
    this.#counters.authFailure('ip');
    const error = new ApiError('ip_not_allowed', 'this key may not be used from this address');
    return { ok: false, error, slow: false };
  }

  /** A request without credentials is no attempt, so only one with wrong ones counts against its address. */
  #refuse(kind: 'missing' | 'bearer' | 'basic' | 'ticket', ip: string | null): Authentication {
    this.#counters.authFailure(kind);
    const retryAfter = ip === null ? 0 : this.#failures.record(limitKey(ip));
    if (retryAfter > 0) {
      const error = new ApiError('rate_limited', 'too many failed authentications', { scope: 'auth', retryAfter });
      return { ok: false, error, slow: false };
    }
    const error =
      kind === 'missing'
        ? new ApiError('missing_credentials', 'this needs a key')
        : new ApiError('invalid_credentials', 'the credentials are not valid');
    return { ok: false, error, slow: kind === 'basic' };
  }

  /** The key in initial.key has all scopes, never expires, and lies on the disk in clear. */
  #reportInitialKey(store: AuthStore): void {
    const found = initialKeyOf(this.#options.networkDir, store.keys(), unixSeconds(this.#clock));
    if (found === null) return;
    const { file, keyId, removable } = found;
    if (removable)
      this.#log.warn('initial.key still holds a key with all scopes: revoke it (obverse key revoke ID)', {
        file,
        keyId,
      });
    else if (this.#options.network === 'main')
      this.#log.warn(
        'the only admin key lies in initial.key: create keys of your own (obverse key create), then revoke it',
        {
          file,
          keyId,
        },
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
    this.#tickets.check((owner) => this.#currentOf(owner, '') !== null);
    this.followers.check();
    for (const listener of this.#onKeysChanged) listener();
  }
}
