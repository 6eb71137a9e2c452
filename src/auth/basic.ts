import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { sha256 } from '../crypto/hash.ts';
import type { RpcUser } from '../http/options.ts';
import { ANONYMOUS, type Principal } from '../http/principal.ts';
import { SCOPES } from '../http/scopes.ts';
import { OperatorError } from '../util/operator-error.ts';
import { writePrivateFile } from '../util/private-file.ts';
import type { Client } from './client-address.ts';

const COOKIE_USER = '__cookie__';
const RPCAUTH = /^([^:]+):([^:$]+)\$([0-9a-fA-F]{64})$/;

const encoder = new TextEncoder();

/** Compares texts of any length in a time that tells nothing about where they differ. */
export function equalSecret(a: string, b: string): boolean {
  return timingSafeEqual(sha256(encoder.encode(a)), sha256(encoder.encode(b)));
}

interface Login {
  readonly salt: string;
  readonly hash: Uint8Array;
  readonly principal: Principal;
}

/** HTTP Basic for clients of Bitcoin Core: the cookie file of this start, and the users of `rpcauth` lines. */
export class BasicAuth {
  readonly #logins = new Map<string, Login>();
  readonly #cookiePrincipal: Principal;
  #cookie: { readonly password: string; readonly files: readonly string[] } | null = null;

  /** Throws OperatorError on a line that is not `user:salt$hmac`. */
  constructor(users: readonly RpcUser[], cookieWhitelist: readonly string[] | null) {
    this.#cookiePrincipal = {
      kind: 'cookie',
      id: 'cookie',
      secretId: null,
      scopes: new Set(SCOPES),
      wallets: null,
      rpcWhitelist: cookieWhitelist && new Set(cookieWhitelist),
    };
    for (const { rpcauth, scopes, whitelist } of users) {
      const match = RPCAUTH.exec(rpcauth);
      if (!match) throw new OperatorError('rpcauth must read user:salt$hmac, with an HMAC-SHA-256 of 64 hex digits');
      const [, user, salt, hash] = match as unknown as [string, string, string, string];
      const principal: Principal = {
        kind: 'rpcauth',
        id: `rpcauth:${user}`,
        secretId: null,
        scopes: new Set(scopes),
        wallets: null,
        rpcWhitelist: whitelist && new Set(whitelist.map((method) => method.toLowerCase())),
      };
      this.#logins.set(user, { salt, hash: Uint8Array.fromHex(hash), principal });
    }
  }

  /** Makes a new password and writes it where bitcoin-cli looks; readable for the owner alone. */
  writeCookie(files: readonly string[]): void {
    const password = randomBytes(32).toString('hex');
    this.#cookie = { password, files };
    for (const file of files) {
      writePrivateFile(file, `${COOKIE_USER}:${password}`);
    }
  }

  /** Removes the cookie files that are still ours. */
  removeCookie(): void {
    for (const file of this.#cookie?.files ?? []) {
      try {
        if (readFileSync(file, 'utf8') === `${COOKIE_USER}:${this.#cookie!.password}`) rmSync(file);
      } catch {
        // Somebody removed it already.
      }
    }
    this.#cookie = null;
  }

  /** Null for a wrong password or an unknown user. The cookie is for clients on this host. */
  check({ user, password }: BasicCredentials, client: Client): Principal | null {
    if (user === COOKIE_USER) {
      if (!this.#cookie || !equalSecret(password, this.#cookie.password) || !client.isLocal()) return null;
      return this.#cookiePrincipal;
    }
    const login = this.#logins.get(user) ?? NOBODY;
    const given = createHmac('sha256', login.salt).update(password).digest();
    return timingSafeEqual(given, login.hash) && login !== NOBODY ? login.principal : null;
  }
}

/** User and password of HTTP Basic. */
export interface BasicCredentials {
  readonly user: string;
  readonly password: string;
}

/** `credentials` is what follows `Basic `. */
export function readBasic(credentials: string): BasicCredentials {
  const text = Buffer.from(credentials, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return { user: text.slice(0, Math.max(colon, 0)), password: text.slice(colon + 1) };
}

/** Compared against for an unknown user, so that the time does not reveal which users there are. */
const NOBODY: Login = {
  salt: '0123456789abcdef',
  hash: new Uint8Array(32),
  principal: ANONYMOUS,
};
