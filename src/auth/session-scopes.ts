import type { Scope } from '../http/scopes.ts';

/** The scopes that a session can hold: a browser neither spends, nor reveals keys, nor mines. */
export const SESSION_SCOPES = ['read', 'broadcast', 'metrics', 'wallet.read', 'admin'] as const satisfies Scope[];

export type SessionScope = (typeof SESSION_SCOPES)[number];

export const DEFAULT_SESSION_SCOPES: readonly SessionScope[] = ['read'];

/** In a session admin only reads, so it stands for the other scopes that read, and for the routes of its own. */
const READ_BY_ADMIN: readonly SessionScope[] = ['read', 'metrics', 'wallet.read'];

/** Returns the scopes that the texts name; null where a session cannot hold one of them, or there is none. */
export function sessionScopesOf(texts: readonly string[]): SessionScope[] | null {
  const known = SESSION_SCOPES.filter((scope) => texts.includes(scope));
  const isKnown = texts.every((text) => known.some((scope) => scope === text));
  return known.length > 0 && isKnown ? known : null;
}

/** Returns the scopes of a session whose code was made with these, in their usual order. */
export function heldScopes(asked: readonly SessionScope[]): SessionScope[] {
  const all = new Set([...asked, ...(asked.includes('admin') ? READ_BY_ADMIN : [])]);
  return SESSION_SCOPES.filter((scope) => all.has(scope));
}
