import { timingSafeEqual } from 'node:crypto';
import type { Principal } from '../http/principal.ts';
import { isScope } from '../http/scopes.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import { type IpSubnet, inSubnet, parseIpSubnet } from '../util/ip-address.ts';
import type { AuthStore, KeyRecord, KeySecret } from './auth-store.ts';
import type { Client } from './client-address.ts';
import { KEY_LENGTH, parseApiKey, secretHash } from './key-format.ts';
import { type RateBucket, type RateBuckets, TokenBucket } from './rate-limits.ts';
import { VerifiedTexts } from './verified-texts.ts';

interface LoadedSecret {
  readonly hash: Uint8Array;
  readonly validUntil: number | null;
  readonly principal: Principal;
}

interface LoadedKey {
  readonly expiresAt: number | null;
  readonly revoked: boolean;
  readonly subnets: readonly IpSubnet[] | null;
  readonly bucket: RateBucket | null;
  readonly secrets: readonly LoadedSecret[];
  /** The loaded record, which shows whether a reload changed the key. */
  readonly source: string;
}

export interface KeyMatch {
  readonly principal: Principal;
  readonly bucket: RateBucket | null;
  /** Whether the key is valid, but not for this address. */
  readonly ipRefused: boolean;
}

/** A key that was verified since the last reload. */
interface VerifiedKey {
  readonly key: LoadedKey;
  readonly secret: LoadedSecret;
  /** The match for every address that the key allows. */
  readonly match: KeyMatch;
}

const DUMMY_HASH = new Uint8Array(32);
/** Longest text that is remembered: a key behind the name of its scheme. */
const MAX_TEXT = KEY_LENGTH + 'Bearer '.length;
/** Bytes of a secret's hash that identify the secret. */
const SECRET_ID_BYTES = 8;

/** The keys of auth.db in memory, so that checking a key reads no database. */
export class Keyring {
  readonly #store: AuthStore;
  readonly #clock: Clock;
  readonly #buckets: RateBuckets | null;
  #keys = new Map<string, LoadedKey>();
  #dataVersion: number;
  #keysVersion: number;
  readonly #lastUsed = new Map<string, number>();
  /** Keys that were used since the last refresh. Reading the clock for each request would take longer. */
  readonly #usedNow = new Set<string>();
  /** Texts that were a valid key since the last reload. */
  readonly #verified = new VerifiedTexts<VerifiedKey>();

  /** `buckets` are those of all fronts; null with one front. */
  constructor(store: AuthStore, clock: Clock, buckets: RateBuckets | null = null) {
    this.#store = store;
    this.#clock = clock;
    this.#buckets = buckets;
    this.#dataVersion = store.dataVersion();
    this.#keysVersion = store.keysVersion();
    this.reload();
  }

  get isEmpty(): boolean {
    return this.#keys.size === 0;
  }

  /** Returns null for a text that is not a valid key now. */
  match(text: string, client: Pick<Client, 'ip'>): KeyMatch | null {
    const known = this.matchVerified(text, client);
    if (known) return known;
    const match = this.#match(text, client.ip);
    if (match) this.remember(text, match.principal);
    return match;
  }

  /** Returns the match of a text that was remembered; null if it was not, or if its key is no longer valid. */
  matchVerified(text: string, client: Pick<Client, 'ip'>): KeyMatch | null {
    if (text.length > MAX_TEXT) return null;
    const verified = this.#verified.find(text);
    if (verified === null) return null;
    const { key, secret, match } = verified;
    if (!isPresent(key, secret, this.#clock)) return null;
    this.#usedNow.add(match.principal.id);
    return key.subnets === null ? match : matchOf(key, match.principal, client.ip);
  }

  /** Remembers a text that contains a valid key until the next reload, such as a whole Authorization header. */
  remember(text: string, principal: Principal): void {
    const key = this.#keys.get(principal.id);
    const secret = key && secretOf(key, principal.secretId);
    if (!key || !secret || text.length > MAX_TEXT) return;
    this.#verified.add(text, {
      key,
      secret,
      match: { principal: secret.principal, bucket: key.bucket, ipRefused: false },
    });
  }

  #match(text: string, ip: string): KeyMatch | null {
    const parts = parseApiKey(text);
    const id = parts?.id ?? null;
    const given = secretHash(parts?.secret ?? text);
    const known = this.#find(id, given, ip);
    if (known || !id) return known;
    // Another process may have created the key a moment ago.
    return this.#isRefreshed() ? this.#find(id, given, ip) : null;
  }

  #find(id: string | null, given: Uint8Array, ip: string): KeyMatch | null {
    const key = id === null ? undefined : this.#keys.get(id);
    const now = unixSeconds(this.#clock);
    let valid: Principal | null = null;
    // An unknown id is compared as well, so that the time does not reveal which ids exist.
    if (!key) timingSafeEqual(given, DUMMY_HASH);
    else
      for (const secret of key.secrets)
        if (timingSafeEqual(given, secret.hash) && isValid(secret, now)) valid = secret.principal;
    if (!key || !valid || !isLive(key, now)) return null;
    this.#usedNow.add(valid.id);
    return matchOf(key, valid, ip);
  }

  /** Sets the time of last use, to the minute, of the keys that were used since the last call. */
  #setLastUsed(): void {
    const now = unixSeconds(this.#clock);
    for (const id of this.#usedNow) this.#lastUsed.set(id, now - (now % 60));
    this.#usedNow.clear();
  }

  #isRefreshed(): boolean {
    try {
      return this.refresh();
    } catch {
      // The next regular refresh reports the error.
      return false;
    }
  }

  /**
   * Returns the present state of a key that was authenticated earlier; null when the key or that secret is no longer
   * valid.
   */
  current(id: string, secretId: string | null, ip: string): KeyMatch | null {
    const key = this.#keys.get(id);
    const secret = key && secretOf(key, secretId);
    if (!key || !secret) return null;
    return isPresent(key, secret, this.#clock) ? matchOf(key, secret.principal, ip) : null;
  }

  /** Whether a caller that was authenticated earlier has the same rights now, and may use its key from this address. */
  isUnchanged(principal: Principal, client: Pick<Client, 'ip'>): boolean {
    const key = this.#keys.get(principal.id);
    if (key === undefined || (key.subnets !== null && !isAllowed(key.subnets, client.ip))) return false;
    for (const secret of key.secrets) if (secret.principal === principal) return isPresent(key, secret, this.#clock);
    return false;
  }

  /** Returns the rights of a valid key, whichever of its secrets is used; null otherwise. */
  rightsOf(id: string): Principal | null {
    const key = this.#keys.get(id);
    const now = unixSeconds(this.#clock);
    if (!key || !isLive(key, now)) return null;
    return key.secrets.find((secret) => isValid(secret, now))?.principal ?? null;
  }

  /** Whether a key exists that is not revoked. It may have expired. */
  isKept(id: string): boolean {
    return this.#keys.get(id)?.revoked === false;
  }

  /** Reloads the keys when another process has changed them. Returns whether it has. Call it every second. */
  refresh(): boolean {
    this.#setLastUsed();
    const version = this.#store.dataVersion();
    if (version === this.#dataVersion) return false;
    this.#dataVersion = version;
    // Most commits of other connections are rows of the audit log.
    if (this.#store.keysVersion() === this.#keysVersion) return false;
    this.reload();
    return true;
  }

  /** Reloads the keys after this process has changed them. */
  reload(): void {
    this.#keysVersion = this.#store.keysVersion();
    const secrets = Map.groupBy(this.#store.secrets(), ({ keyId }) => keyId);
    const keys = new Map<string, LoadedKey>();
    for (const record of this.#store.keys())
      keys.set(record.id, this.#load(record, secrets.get(record.id) ?? [], this.#keys.get(record.id)));
    this.#keys = keys;
    this.#verified.clear();
  }

  /** Writes the times of last use, to the minute. */
  flushLastUsed(): void {
    this.#setLastUsed();
    if (this.#lastUsed.size === 0) return;
    this.#store.touch(this.#lastUsed);
    this.#lastUsed.clear();
  }

  /** An unchanged record keeps its principals, which is how open connections notice that nothing changed. */
  #load(record: KeyRecord, secrets: readonly KeySecret[], before: LoadedKey | undefined): LoadedKey {
    const source = JSON.stringify({ ...record, lastUsedAt: null });
    const unchanged = before?.source === source ? before : null;
    const scopes = new Set(record.scopes.filter(isScope));
    const wallets = record.wallets && new Set(record.wallets);
    const principalOf = (secretId: string): Principal =>
      unchanged?.secrets.find(({ principal }) => principal.secretId === secretId)?.principal ?? {
        kind: 'key',
        id: record.id,
        secretId,
        scopes,
        wallets,
        rpcWhitelist: null,
      };
    return {
      expiresAt: record.expiresAt,
      revoked: record.revokedAt !== null,
      subnets: record.allowedIps?.map(parseIpSubnet).filter((subnet) => subnet !== null) ?? null,
      bucket: this.#bucket(record, before?.bucket ?? null),
      secrets: secrets.map(({ hash, validUntil }) => {
        const secretId = hash.subarray(0, SECRET_ID_BYTES).toHex();
        return { hash, validUntil, principal: principalOf(secretId) };
      }),
      source,
    };
  }

  /** A bucket is kept while its rate is unchanged, since a reload would refill it otherwise. */
  #bucket({ id, rate }: KeyRecord, before: RateBucket | null): RateBucket | null {
    if (rate === null) return null;
    const isSame = before?.rate.perSecond === rate.perSecond && before.rate.burst === rate.burst;
    if (isSame) return before;
    return this.#buckets?.bucket(`key ${id}`, rate, this.#clock) ?? new TokenBucket(rate, this.#clock);
  }
}

function matchOf({ bucket, subnets }: LoadedKey, principal: Principal, ip: string): KeyMatch {
  return { principal, bucket, ipRefused: subnets !== null && !isAllowed(subnets, ip) };
}

function isAllowed(subnets: readonly IpSubnet[], ip: string): boolean {
  return subnets.some((subnet) => inSubnet(ip, subnet));
}

function secretOf({ secrets }: LoadedKey, secretId: string | null): LoadedSecret | null {
  for (const secret of secrets) if (secret.principal.secretId === secretId) return secret;
  return null;
}

/** Whether a key and one of its secrets are valid now. */
function isPresent(key: LoadedKey, secret: LoadedSecret, clock: Clock): boolean {
  // Reading the clock takes longer than the rest, and most keys have no end.
  const now = key.expiresAt === null && secret.validUntil === null ? 0 : unixSeconds(clock);
  return isLive(key, now) && isValid(secret, now);
}

function isLive({ revoked, expiresAt }: LoadedKey, now: number): boolean {
  return !revoked && (expiresAt === null || now < expiresAt);
}

function isValid({ validUntil }: LoadedSecret, now: number): boolean {
  return validUntil === null || now < validUntil;
}
