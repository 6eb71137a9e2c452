import type { Following } from '../http/call.ts';
import { ApiError } from '../http/errors.ts';
import type { Principal } from '../http/principal.ts';
import { hasScope, type Scope } from '../http/scopes.ts';
import type { Client } from './client-address.ts';

/** The present principal of a caller that was authenticated earlier, or the reason why it would be refused now. */
export type CallerStanding = Principal | 'key_invalid' | 'ip_refused' | 'session_ended';

interface Follower {
  readonly principal: Principal;
  readonly ip: string;
  readonly scope: Scope;
  readonly abort: AbortController;
}

/** Long and waiting requests, which are checked again whenever keys may have changed. */
export class KeyFollowers {
  readonly #standing: (principal: Principal, client: Pick<Client, 'ip'>) => CallerStanding;
  readonly #followers = new Set<Follower>();

  constructor(standing: (principal: Principal, client: Pick<Client, 'ip'>) => CallerStanding) {
    this.#standing = standing;
  }

  /**
   * `scope` is the scope that the request needs. The number of followers is bounded by the number of parallel requests.
   */
  follow(principal: Principal, ip: string, scope: Scope): Following {
    const follower = { principal, ip, scope, abort: new AbortController() };
    // Other principals cannot change while the node runs.
    if (principal.kind === 'key' || principal.kind === 'session') this.#followers.add(follower);
    return { signal: follower.abort.signal, end: () => this.#followers.delete(follower) };
  }

  /** Throws ApiError where a caller that was authenticated earlier may no longer make a request that needs `scope`. */
  require(principal: Principal, client: Pick<Client, 'ip'>, scope: Scope): void {
    const standing = this.#standing(principal, client);
    const error = standing === principal ? null : refusalOf(standing, { principal, scope });
    if (error) throw error;
  }

  check(): void {
    for (const follower of this.#followers) {
      const error = refusalOf(this.#standing(follower.principal, follower), follower);
      if (error === null) continue;
      this.#followers.delete(follower);
      follower.abort.abort(error);
    }
  }
}

export const SESSION_ENDED = 'the session has ended';
export const WALLETS_CHANGED = 'the wallets of the key have changed';

function refusalOf(
  standing: CallerStanding,
  { principal, scope }: Pick<Follower, 'principal' | 'scope'>,
): ApiError | null {
  if (standing === 'key_invalid') return new ApiError('invalid_credentials', 'the key is no longer valid');
  if (standing === 'session_ended') return new ApiError('invalid_credentials', SESSION_ENDED);
  if (standing === 'ip_refused') return new ApiError('ip_not_allowed', 'this key may not be used from this address');
  if (!hasScope(standing.scopes, scope))
    return new ApiError('insufficient_scope', `this needs the scope ${scope}`, { required: scope });
  return narrowsWallets(principal, standing) ? new ApiError('insufficient_scope', WALLETS_CHANGED) : null;
}

/** Whether a wallet that was allowed before is not allowed now. */
export function narrowsWallets({ wallets: before }: Principal, { wallets: now }: Principal): boolean {
  if (now === null) return false;
  return before === null || [...before].some((name) => !now.has(name));
}

/** Whether a scope that was granted before is not granted now. */
export function narrowsScopes({ scopes: before }: Principal, { scopes: now }: Principal): boolean {
  return [...before].some((scope) => !hasScope(now, scope) && !(scope === 'wallet' && coversWallet(now)));
}

function coversWallet(scopes: ReadonlySet<Scope>): boolean {
  return (['wallet.read', 'wallet.spend', 'wallet.keys'] as const).every((scope) => hasScope(scopes, scope));
}
