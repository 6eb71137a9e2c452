import { invalid } from '../http/input.ts';
import type { Scope } from '../http/scopes.ts';

/** Types of events that the log replays. */
export const REPLAYED_TYPES = [
  'newBlock',
  'newTransaction',
  'mempoolUpdate',
  'addressTransaction',
  'confirmation',
  'blockDisconnected',
  'reorg',
  'transactionRemoved',
  'walletTransaction',
] as const;
/** Types of events that come from the mempool, as a whole or in part. */
export const MEMPOOL_TYPES: readonly string[] = [
  'newTransaction',
  'mempoolUpdate',
  'transactionRemoved',
  'addressTransaction',
  'confirmation',
  'walletTransaction',
];
/** The first five types. The last two of them report only items that the key watches. */
const DEFAULT_TYPES: ReadonlySet<string> = new Set(REPLAYED_TYPES.slice(0, 5));

/** Returns the types that a client lists; the default ones without a list. Throws ApiError `invalid_parameter`. */
export function eventTypes(listed: readonly unknown[] | undefined): ReadonlySet<string> {
  for (const type of listed ?? [])
    if (!REPLAYED_TYPES.some((known) => known === type)) invalid('types', `must be of ${REPLAYED_TYPES.join(', ')}`);
  return listed ? new Set(listed as readonly string[]) : DEFAULT_TYPES;
}

/** Returns the scope that the types require. The routes require `read`, and one type requires more. */
export function scopeOfTypes(types: ReadonlySet<string>): Scope {
  return types.has('walletTransaction') ? 'wallet.read' : 'read';
}
