import type { Scope } from './scopes.ts';

/** Who asks. `id` names the key in logs and limits: its public id, `static`, `cookie`, or `rpcauth:<user>`. */
export interface Principal {
  readonly kind: 'key' | 'static' | 'cookie' | 'rpcauth' | 'anonymous';
  readonly id: string;
  /** Which of a key's secrets was presented: a key that is being rotated has several. null for other callers. */
  readonly secretId: string | null;
  readonly scopes: ReadonlySet<Scope>;
  /** Names of the wallets the caller may use; null allows every wallet. */
  readonly wallets: ReadonlySet<string> | null;
  /** Lower-case RPC method names the caller is held to; null sets no bound. */
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
