import { SCOPES } from '../util/scope-names.ts';

export { SCOPES };
export type Scope = (typeof SCOPES)[number];

export const DEFAULT_SCOPES: readonly Scope[] = ['read', 'broadcast'];

export function isScope(text: string): text is Scope {
  return (SCOPES as readonly string[]).includes(text);
}

export function hasScope(granted: ReadonlySet<Scope>, required: Scope): boolean {
  return granted.has(required) || granted.has('admin') || (required.startsWith('wallet.') && granted.has('wallet'));
}
