import type { Scope } from './scopes.ts';

/**
 * The authenticated caller. `id` identifies the key in logs and limits: its public id, `static`, `cookie`, or
 * `rpcauth:<user>`.
 */
export interface Principal {
  readonly kind: 'key' | 'static' | 'cookie' | 'rpcauth' | 'anonymous';
  readonly id: string;
  /** The secret of the key that was presented, since a key has several during a rotation. null for other callers. */
  readonly secretId: string | null;
  readonly scopes: ReadonlySet<Scope>;
  /** Names of the wallets that the caller may use; null allows all wallets. */
  readonly wallets: ReadonlySet<string> | null;
  /** Lower-case names of the RPC methods that the caller may call; null allows all. */
  readonly rpcWhitelist: ReadonlySet<string> | null;
}

/** The caller of a request without credentials. */
export const ANONYMOUS: Principal = {
  kind: 'anonymous',
  id: 'anonymous',
  secretId: null,
  scopes: new Set(),
  wallets: null,
  rpcWhitelist: null,
};
