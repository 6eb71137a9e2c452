import type { ServerWebSocket } from 'bun';
import type { Subscription } from '../feed/derived.ts';
import { completeUpTo, type EventPosition, WHOLE } from '../feed/event-cursor.ts';
import type { Frame, FrameStep } from '../feed/frame.ts';
import { type Watched, type WatchRegistry, WatchSet, WatchUnion } from '../feed/watches.ts';
import type { Principal } from '../http/principal.ts';

/** Data that Bun stores with a WebSocket. */
export interface SocketData {
  /** Replaced when the key gets further rights. */
  principal: Principal;
  readonly ip: string;
  readonly requestId: string;
  /** The name under which the connection is counted. */
  readonly countedAs: string;
  /** Set when the connection is open. */
  connection: WsConnection | null;
}

/** Close codes of the contract. */
export const CloseCode = {
  GOING_AWAY: 1001,
  UNSUPPORTED: 1003,
  INTERNAL: 1011,
  TRY_LATER: 1013,
  KEY_REVOKED: 4001,
  RIGHTS_CHANGED: 4003,
  SLOW_CONSUMER: 4008,
  MESSAGE_RATE: 4029,
  PROTOCOL: 4400,
} as const;

export const DEFAULT_EVENTS = ['newBlock', 'newTransaction', 'mempoolUpdate'] as const;
/** Events about watched items; a client that watches something is subscribed to them. */
export const DERIVED_EVENTS: readonly string[] = ['addressTransaction', 'confirmation'];

/** Messages that are sent in succession: those of one event of the log, or others without a number. */
export interface Course {
  readonly frames: Iterator<FrameStep>;
  /** Number of that event; null leaves the position of the connection unchanged. */
  readonly seq: number | null;
}

/** Limit of the replies that wait for a client that sends messages but does not read. */
const MAX_WAITING_REPLIES = 100;
/** Limit of the messages that wait for the answer to an earlier one, characters. */
const MAX_INBOX_LENGTH = 1024 ** 2;
const COMPRESS_ABOVE = 1024;
const RATE_WINDOW_MS = 10_000;

/** One client: its subscriptions, its position in the log, and the backpressure of its socket. */
export class WsConnection implements Subscription, EventPosition {
  readonly socket: ServerWebSocket<SocketData>;
  readonly events = new Set<string>(DEFAULT_EVENTS);
  readonly watches: WatchUnion;
  full = false;
  onlyWatched = false;
  minFeeRate = 0;
  /** Number of the last event that was sent or skipped. */
  seq: number;
  /** Position within the messages of that number up to which they were sent. */
  within: string = WHOLE;
  /** Number up to which the client was notified of missing mempool events. */
  gapReportedTo = 0;
  /** The messages being sent, and the one that the socket did not accept. */
  course: Course | null = null;
  held: Frame | null = null;
  /** Snapshots to send before the next event, with the number of their items. */
  readonly #snapshots: { readonly frames: Iterator<FrameStep>; readonly items: number }[] = [];
  /** True while a worker derives data for its next message. */
  waiting = false;
  failures = 0;
  /** Messages that arrived while another one is processed. */
  readonly #inbox: string[] = [];
  #inboxLength = 0;
  answering = false;
  blockedSince: number | null = null;
  lastHeard: number;
  lastPing: number;
  lastHeartbeat = 0;
  errorsInRow = 0;
  closed = false;
  #replies: string[] = [];
  /** Events from which the client has unsubscribed. */
  readonly #declined = new Set<string>();
  #windowStart: number;
  #windowCount = 0;

  /** `stored` holds the stored watches of its key. */
  constructor(
    socket: ServerWebSocket<SocketData>,
    seq: number,
    now: number,
    { registry, stored }: { registry: WatchRegistry; stored: Watched },
  ) {
    this.socket = socket;
    this.watches = new WatchUnion(new WatchSet(registry), stored);
    this.seq = seq;
    this.lastHeard = now;
    this.lastPing = now;
    this.#windowStart = now;
  }

  get principal(): Principal {
    return this.socket.data.principal;
  }

  /** Wallets whose transactions the client may see; null for all. */
  get wallets(): ReadonlySet<string> | null {
    return this.principal.wallets;
  }

  get blocked(): boolean {
    return this.blockedSince !== null;
  }

  want(events: readonly string[]): void {
    for (const event of events) {
      this.events.add(event);
      this.#declined.delete(event);
    }
  }

  decline(events: readonly string[]): void {
    for (const event of events) {
      this.events.delete(event);
      this.#declined.add(event);
    }
  }

  /** Subscribes to events about the stored watches of its key, unless the client has unsubscribed from them. */
  wantStored(): void {
    if (this.watches.stored.size === 0) return;
    for (const event of DERIVED_EVENTS) if (!this.#declined.has(event)) this.events.add(event);
  }

  /** The highest number up to which all messages were sent. */
  get sentUpTo(): number {
    return completeUpTo(this);
  }

  moveTo(seq: number, within: string): void {
    this.seq = seq;
    this.within = within;
  }

  /** Moves to a position, behind which all events are sent. */
  resumeAt({ seq, within }: EventPosition, gapReportedTo: number): void {
    this.moveTo(seq, within);
    this.gapReportedTo = gapReportedTo;
    if (this.course?.seq != null) {
      this.course = null;
      this.held = null;
    }
  }

  /** Sends the text of an event. Returns false if the socket dropped it. A dropped or queued text blocks the connection. */
  sendEvent(text: string, now: number): boolean {
    return this.#send(text, now);
  }

  /** Sends a reply, now or after the socket has drained. Returns false if too many replies wait. */
  reply(text: string, now: number): boolean {
    if (!this.blocked && this.#send(text, now)) return true;
    this.#replies.push(text);
    return this.#replies.length <= MAX_WAITING_REPLIES;
  }

  /** Called when the socket has drained. Sends the waiting replies. */
  drained(now: number): void {
    this.blockedSince = null;
    while (this.#replies.length > 0 && !this.blocked) {
      if (this.#send(this.#replies[0]!, now)) this.#replies.shift();
    }
  }

  /** Adds a snapshot behind the waiting ones. */
  addSnapshot(frames: Iterator<FrameStep>, items: number): void {
    this.#snapshots.push({ frames, items });
  }

  /** Removes the next snapshot and returns its messages; null if none waits. */
  nextSnapshot(): Iterator<FrameStep> | null {
    return this.#snapshots.shift()?.frames ?? null;
  }

  /** Number of items whose snapshots wait. */
  get snapshotItems(): number {
    return this.#snapshots.reduce((sum, { items }) => sum + items, 0);
  }

  /** Keeps a message until the earlier ones are processed. Returns false if too many characters wait. */
  holdMessage(message: string): boolean {
    this.#inbox.push(message);
    this.#inboxLength += message.length;
    return this.#inboxLength <= MAX_INBOX_LENGTH;
  }

  /** Removes the next message that waits; null if there is none. */
  nextMessage(): string | null {
    const message = this.#inbox.shift() ?? null;
    this.#inboxLength -= message?.length ?? 0;
    return message;
  }

  /** Counts one message of the client. Returns false if there were more than `limit` in 10 s. */
  countMessage(limit: number, now: number): boolean {
    if (now - this.#windowStart >= RATE_WINDOW_MS) {
      this.#windowStart = now;
      this.#windowCount = 0;
    }
    return ++this.#windowCount <= limit;
  }

  close(code: number, reason: string): void {
    if (!this.closed) this.socket.close(code, reason);
  }

  #send(text: string, now: number): boolean {
    // 0: dropped, since the buffer is full. -1: queued, but the buffer is filling.
    const sent = this.socket.send(text, text.length > COMPRESS_ABOVE);
    if (sent <= 0) this.blockedSince ??= now;
    return sent !== 0;
  }
}
