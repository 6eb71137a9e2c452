import { timingSafeEqual } from 'node:crypto';
import type { AuthStore, KeyRecord } from '../../storage/auth-store.ts';
import { type Clock, unixSeconds } from '../../util/clock.ts';
import type { Principal } from '../context.ts';
import { inSubnet, parseSubnet, type Subnet } from './ip.ts';
import { parseKey, secretHash } from './key.ts';
import { TokenBucket } from './limits.ts';
import { isScope } from './scopes.ts';

interface LoadedKey {
  readonly principal: Principal;
  readonly expiresAt: number | null;
  readonly revoked: boolean;
  readonly subnets: readonly Subnet[] | null;
  readonly bucket: TokenBucket | null;
  readonly secrets: { readonly hash: Uint8Array; readonly validUntil: number | null }[];
  /** What was loaded, to tell whether a reload changed it. */
  readonly source: string;
}

export interface KeyMatch {
  readonly principal: Principal;
  readonly bucket: TokenBucket | null;
  /** The key is right, but not for this address. */
  readonly ipRefused: boolean;
}

const DUMMY_HASH = new Uint8Array(32);

/** The keys of auth.db in memory, so that checking one costs no read. */
export class Keyring {
  readonly #store: AuthStore;
  readonly #clock: Clock;
  #keys = new Map<string, LoadedKey>();
  #dataVersion: number;
  readonly #lastUsed = new Map<string, number>();

  constructor(store: AuthStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#dataVersion = store.dataVersion();
    this.reload();
  }

  get isEmpty(): boolean {
    return this.#keys.size === 0;
  }

  /** Null for a text that is no valid key now, whatever the cause. */
  match(text: string, ip: string): KeyMatch | null {
    const parts = parseKey(text);
    const key = parts ? this.#keys.get(parts.id) : undefined;
    const given = secretHash(parts?.secret ?? text);
    const now = unixSeconds(this.#clock);
    let valid = false;
    // An unknown id is compared as well, so that the time does not tell which ids there are.
    for (const { hash, validUntil } of key?.secrets ?? [{ hash: DUMMY_HASH, validUntil: 0 }])
      if (timingSafeEqual(given, hash) && (validUntil === null || now < validUntil)) valid = true;
    if (!key || !valid || !isLive(key, now)) return null;
    this.#lastUsed.set(key.principal.id, now - (now % 60));
    return matchOf(key, ip);
  }

  /** A key that proved itself before, as it is now; null when it is no longer valid. */
  current(id: string, ip: string): KeyMatch | null {
    const key = this.#keys.get(id);
    return key && isLive(key, unixSeconds(this.#clock)) ? matchOf(key, ip) : null;
  }

  /** Whether there is such a key, expired perhaps, but not revoked. */
  isKept(id: string): boolean {
    return this.#keys.get(id)?.revoked === false;
  }

  /** Whether a key that was valid at some time still is. */
  isLive(id: string): boolean {
    const key = this.#keys.get(id);
    return key !== undefined && isLive(key, unixSeconds(this.#clock));
  }

  /** Reads the keys again when another process has changed them. */
  refresh(): void {
    const version = this.#store.dataVersion();
    if (version === this.#dataVersion) return;
    this.#dataVersion = version;
    this.reload();
  }

  /** Reads the keys again; needed after this process has changed them itself. */
  reload(): void {
    const secrets = Map.groupBy(this.#store.secrets(), ({ keyId }) => keyId);
    const keys = new Map<string, LoadedKey>();
    for (const record of this.#store.keys()) {
      const source = JSON.stringify({ ...record, lastUsedAt: null });
      const before = this.#keys.get(record.id);
      const own = secrets.get(record.id) ?? [];
      // What did not change keeps its bucket, or each note of a last use would fill it again.
      keys.set(record.id, before?.source === source ? { ...before, secrets: own } : this.#load(record, own, source));
    }
    this.#keys = keys;
  }

  /** Writes down when keys were last used, to the minute. */
  flushLastUsed(): void {
    if (this.#lastUsed.size === 0) return;
    this.#store.touch(this.#lastUsed);
    this.#lastUsed.clear();
  }

  #load(record: KeyRecord, secrets: LoadedKey['secrets'], source: string): LoadedKey {
    const principal: Principal = {
      kind: 'key',
      id: record.id,
      scopes: new Set(record.scopes.filter(isScope)),
      rpcWhitelist: null,
    };
    return {
      principal,
      expiresAt: record.expiresAt,
      revoked: record.revokedAt !== null,
      subnets: record.allowedIps?.map(parseSubnet).filter((subnet) => subnet !== null) ?? null,
      bucket: record.rate && new TokenBucket(record.rate, this.#clock),
      secrets,
      source,
    };
  }
}

function matchOf({ principal, bucket, subnets }: LoadedKey, ip: string): KeyMatch {
  return { principal, bucket, ipRefused: subnets !== null && !subnets.some((subnet) => inSubnet(ip, subnet)) };
}

function isLive({ revoked, expiresAt }: LoadedKey, now: number): boolean {
  return !revoked && (expiresAt === null || now < expiresAt);
}
