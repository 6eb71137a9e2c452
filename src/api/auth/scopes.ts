/** What a key may be allowed. `admin` holds every other scope, `wallet` holds `wallet.read`. */
export const SCOPES = ['read', 'broadcast', 'wallet.read', 'wallet', 'mining', 'metrics', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

export const DEFAULT_SCOPES: readonly Scope[] = ['read', 'broadcast'];

export function isScope(text: string): text is Scope {
  return (SCOPES as readonly string[]).includes(text);
}

export function hasScope(granted: ReadonlySet<Scope>, required: Scope): boolean {
  return granted.has(required) || granted.has('admin') || (required === 'wallet.read' && granted.has('wallet'));
}
