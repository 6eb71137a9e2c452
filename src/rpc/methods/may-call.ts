import type { Principal } from '../../http/principal.ts';
import { hasScope, type Scope } from '../../http/scopes.ts';
import { RPC_METHODS } from './methods.ts';

const SCOPES: readonly Scope[] = [...new Set([...RPC_METHODS.values()].map(({ scope }) => scope))];

/** Whether the caller may call at least one method. */
export function mayCallAny({ scopes, rpcWhitelist }: Principal): boolean {
  return rpcWhitelist?.size !== 0 && SCOPES.some((scope) => hasScope(scopes, scope));
}
