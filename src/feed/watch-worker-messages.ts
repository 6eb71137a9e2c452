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

/** `open` comes first and once. */
export type ToWatchWorker =
  | { readonly type: 'open'; readonly path: string }
  /** A WatchWrite as JSON, here and back: so it crosses ten times faster than as objects. */
  | { readonly type: 'write'; readonly id: number; readonly write: string }
  | { readonly type: 'close' };

/** In place of a write's id: the database is closed, the thread may go. */
export const WATCH_WORKER_CLOSED = 0;

export interface FromWatchWorker {
  readonly id: number;
  /** A WatchWritten as JSON. */
  readonly written: string | null;
  /** Why it could not be done; for the log. */
  readonly error: string | null;
}
