import type { WatchChange, WatchRecord } from './watch-store.ts';

/** One change of watches.db; `ids` null removes all of the owner. */
export type WatchWrite =
  | { readonly type: 'put'; readonly owner: string; readonly changes: readonly WatchChange[] }
  | { readonly type: 'remove'; readonly owner: string; readonly ids: readonly string[] | null };

/** Result of a change: the stored watches, or the removed ones. */
export interface WatchWritten {
  readonly put: readonly WatchRecord[];
  readonly removed: readonly { readonly id: string; readonly target: string }[];
}

/** Options of the worker. Its requests are a WatchWrite as JSON, and its answers a WatchWritten: ten times faster. */
export interface WatchDatabase {
  readonly path: string;
}
