import type { Principal } from '../../http/principal.ts';
import { hasScope, type Scope } from '../../http/scopes.ts';
import { RPC_METHODS } from './methods.ts';

const SCOPES: readonly Scope[] = [...new Set([...RPC_METHODS.values()].map(({ scope }) => scope))];

/** Results of `mayCallAny`. A caller with other rights is another object. */
const results = new WeakMap<Principal, boolean>();

/** Whether the caller may call at least one method. */
export function mayCallAny(principal: Principal): boolean {
  let result = results.get(principal);
  if (result === undefined) {
    const { scopes, rpcWhitelist } = principal;
    result = rpcWhitelist?.size !== 0 && SCOPES.some((scope) => hasScope(scopes, scope));
    results.set(principal, result);
  }
  return result;
}
