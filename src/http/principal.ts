import type { Scope } from './scopes.ts';

/**
 * The authenticated caller. `id` identifies the credential in logs and limits: the public id of a key, `static`, `cookie`,
 * `rpcauth:<user>`, or `session:<id>`.
 */
export interface Principal {
  readonly kind: 'key' | 'static' | 'cookie' | 'rpcauth' | 'session' | 'anonymous';
  readonly id: string;
  /** The secret of the key that was presented, since a key has several during a rotation. null for other callers. */
  readonly secretId: string | null;
  readonly scopes: ReadonlySet<Scope>;
  /** Names of the wallets that the caller may use; null allows all wallets. */
  readonly wallets: ReadonlySet<string> | null;
  /** Lower-case names of the RPC methods that the caller may call; null allows all. */
  readonly rpcWhitelist: ReadonlySet<string> | null;
  /** Whether a session may also read routes of the scope admin, which its scopes omit since admin includes all others. */
  readonly readsAdmin?: true;
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
