import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { sha256 } from '../crypto/hash-functions.ts';
import type { RpcUser } from '../http/options.ts';
import { ANONYMOUS, type Principal } from '../http/principal.ts';
import { SCOPES } from '../http/scopes.ts';
import { OperatorError } from '../util/operator-error.ts';
import { writePrivateFile } from '../util/private-file.ts';
import type { Client } from './client-address.ts';
import { VerifiedTexts } from './verified-texts.ts';

const COOKIE_USER = '__cookie__';
/** Longest header that is remembered. */
const MAX_HEADER = 512;
const RPCAUTH = /^([^:]+):([^:$]+)\$([0-9a-fA-F]{64})$/;

const encoder = new TextEncoder();

/** Compares texts of any length in a time that does not depend on where they differ. */
export function equalSecret(a: string, b: string): boolean {
  return timingSafeEqual(sha256(encoder.encode(a)), sha256(encoder.encode(b)));
}

interface Login {
  readonly salt: string;
  readonly hash: Uint8Array;
  readonly principal: Principal;
}

/** An unknown user is compared with this login, so that the time does not reveal which users exist. */
const UNKNOWN_USER: Login = {
  salt: '0123456789abcdef',
  hash: new Uint8Array(32),
  principal: ANONYMOUS,
};

/** HTTP Basic for clients of Bitcoin Core: the cookie of this start, and the users of `rpcauth` lines. */
export class BasicAuth {
  readonly #logins = new Map<string, Login>();
  readonly #cookiePrincipal: Principal;
  /** Headers that were right, by their client. Only local ones may use the cookie. */
  readonly #local = new VerifiedTexts<Principal>();
  readonly #remote = new VerifiedTexts<Principal>();
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
      if (!match)
        throw new OperatorError('rpcauth must read user:salt$hmac, with an HMAC-SHA-256 of 64 hex digits', {
          isOfSettings: true,
        });
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

  /** Creates a password and writes it to the cookie files, readable only for their owner. */
  writeCookie(files: readonly string[]): void {
    const password = randomBytes(32).toString('hex');
    this.#cookie = { password, files };
    for (const file of files) {
      writePrivateFile(file, `${COOKIE_USER}:${password}`);
    }
  }

  /** Removes the cookie files that this process wrote. */
  removeCookie(): void {
    for (const file of this.#cookie?.files ?? []) {
      try {
        if (readFileSync(file, 'utf8') === `${COOKIE_USER}:${this.#cookie!.password}`) rmSync(file);
      } catch {
        // The file was removed already.
      }
    }
    this.#cookie = null;
  }

  /** Returns the principal of a header that was right before. Logins do not change while the node runs. */
  verified(authorization: string, client: Client): Principal | null {
    return authorization.startsWith('Basic ') ? this.#verifiedOf(client).find(authorization) : null;
  }

  remember(authorization: string, client: Client, principal: Principal): void {
    if (authorization.length <= MAX_HEADER) this.#verifiedOf(client).add(authorization, principal);
  }

  #verifiedOf(client: Client): VerifiedTexts<Principal> {
    return client.isLocal() ? this.#local : this.#remote;
  }

  /**
   * Returns the principal; null for a wrong password or an unknown user. Only clients on this host may use the cookie.
   */
  check({ user, password }: BasicCredentials, client: Pick<Client, 'isLocal'>): Principal | null {
    if (user === COOKIE_USER) {
      if (!this.#cookie || !equalSecret(password, this.#cookie.password) || !client.isLocal()) return null;
      return this.#cookiePrincipal;
    }
    const login = this.#logins.get(user) ?? UNKNOWN_USER;
    const given = createHmac('sha256', login.salt).update(password).digest();
    return timingSafeEqual(given, login.hash) && login !== UNKNOWN_USER ? login.principal : null;
  }
}

/** User and password of HTTP Basic. */
export interface BasicCredentials {
  readonly user: string;
  readonly password: string;
}

/** `credentials` is the text behind `Basic `. */
export function readBasic(credentials: string): BasicCredentials {
  const text = Buffer.from(credentials, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return { user: text.slice(0, Math.max(colon, 0)), password: text.slice(colon + 1) };
}
