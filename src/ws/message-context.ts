import type { EventLog } from '../feed/event-log.ts';
import type { WatchItem, WatchRegistry } from '../feed/watches.ts';
import type { NetworkParams } from '../params/network-params.ts';
import type { Data } from './message-error.ts';

/** State from which messages are answered. */
export interface MessageContext {
  readonly log: EventLog;
  readonly registry: WatchRegistry;
  readonly params: NetworkParams;
  /** Limit of the items that one connection watches. */
  readonly maxWatched: number;
  /** Limit of the items that all connections together watch. */
  readonly maxWatchedInAll: number;
  /** Number of items that all connections together watch. */
  watchedInAll(): number;
  /** Resolves when the log has the event that a client names, or after a time; null where it does not need to wait. */
  awaitEvent(after: unknown): Promise<void> | null;
  readonly time: number;
  readonly status: { readonly height: number; readonly hash: string; readonly synced: boolean } | null;
}

/** Outcome of one message. */
export interface MessageOutcome {
  readonly reply: 'ack' | 'pong' | 'status';
  readonly data: Data;
  /** Messages sent directly after the reply, before any event. */
  readonly followedBy?: readonly string[];
  /** Items whose state is sent before the next event. */
  readonly snapshot?: readonly WatchItem[];
}
