import type { EventLog } from '../feed/event-log.ts';
import type { WatchItem, WatchRegistry } from '../feed/watches.ts';
import type { NetworkParams } from '../params/network-params.ts';
import type { Data } from './message-error.ts';

/** What messages are answered from. */
export interface MessageWorld {
  readonly log: EventLog;
  readonly registry: WatchRegistry;
  readonly params: NetworkParams;
  /** Items that one connection, and all together, may watch. */
  readonly maxWatched: number;
  readonly maxWatchedInAll: number;
  /** Items that all connections together watch now. */
  watchedInAll(): number;
  readonly time: number;
  readonly status: { readonly height: number; readonly hash: string; readonly synced: boolean } | null;
}

/** What is done for one message. */
export interface MessageOutcome {
  readonly reply: 'ack' | 'pong' | 'status';
  readonly data: Data;
  /** Messages that go out right behind the reply, before any event. */
  readonly followedBy?: readonly string[];
  /** Items whose state is sent before any further event. */
  readonly snapshot?: readonly WatchItem[];
}
