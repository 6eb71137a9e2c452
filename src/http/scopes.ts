/**
 * The scopes of a key. `admin` includes every other scope; `wallet` is the sum of `wallet.read`, `wallet.spend` and
 * `wallet.keys`, which do not include each other.
 */
export const SCOPES = [
  'read',
  'broadcast',
  'wallet.read',
  'wallet.spend',
  'wallet.keys',
  'wallet',
  'mining',
  'metrics',
  'admin',
] as const;
export type Scope = (typeof SCOPES)[number];

export const DEFAULT_SCOPES: readonly Scope[] = ['read', 'broadcast'];

export function isScope(text: string): text is Scope {
  return (SCOPES as readonly string[]).includes(text);
}

export function hasScope(granted: ReadonlySet<Scope>, required: Scope): boolean {
  return granted.has(required) || granted.has('admin') || (required.startsWith('wallet.') && granted.has('wallet'));
}
