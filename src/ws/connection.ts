import type { ServerWebSocket } from 'bun';
import type { Wishes } from '../feed/derived.ts';
import { completeUpTo, type EventPosition, WHOLE } from '../feed/event-cursor.ts';
import type { Frame, FrameStep } from '../feed/frame.ts';
import { type Watched, type WatchRegistry, WatchSet, WatchUnion } from '../feed/watches.ts';
import type { Principal } from '../http/principal.ts';

/** What Bun keeps beside a WebSocket. */
export interface SocketData {
  /** Replaced when the key gets further rights. */
  principal: Principal;
  readonly ip: string;
  readonly requestId: string;
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
/** Told of what is watched; who watches something wants them. */
export const DERIVED_EVENTS: readonly string[] = ['addressTransaction', 'confirmation'];

/** Messages that a client gets one after the other: those of one event of the log, or others that have no number. */
export interface Course {
  readonly frames: Iterator<FrameStep>;
  /** The number of that event; null leaves the position where it is. */
  readonly seq: number | null;
}

/** Replies waiting for a client that asks but does not read. */
const MAX_WAITING_REPLIES = 100;
const COMPRESS_ABOVE = 1024;
const RATE_WINDOW_MS = 10_000;

/** One client: which events it wants, how far it has got in the log, and whether its socket takes more. */
export class WsConnection implements Wishes, EventPosition {
  readonly socket: ServerWebSocket<SocketData>;
  readonly events = new Set<string>(DEFAULT_EVENTS);
  readonly watches: WatchUnion;
  full = false;
  onlyWatched = false;
  minFeeRate = 0;
  /** Number of the last event that was sent to it or passed over. */
  seq: number;
  /** How much of what has that number was sent. */
  within: string = WHOLE;
  /** It knows that events of the mempool up to here are missing. */
  gapTold = 0;
  /** What is being sent, and what of it the socket did not take. */
  course: Course | null = null;
  held: Frame | null = null;
  /** What comes before the next event. */
  readonly inserted: Iterator<FrameStep>[] = [];
  /** Something it needs is being worked out. */
  waiting = false;
  failures = 0;
  /** Messages that arrived while one takes its time. */
  readonly inbox: string[] = [];
  answering = false;
  blockedSince: number | null = null;
  lastHeard: number;
  lastPing: number;
  lastHeartbeat = 0;
  errorsInRow = 0;
  closed = false;
  #replies: string[] = [];
  /** Events that the client has said it does not want. */
  readonly #declined = new Set<string>();
  #windowStart: number;
  #windowCount = 0;

  /** `stored` is what is watched for its key. */
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

  /** Wallets whose transactions it may see; null for all. */
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

  /** Something is stored for its key: it is told of that, unless the client has said that it does not want to be. */
  wantStored(): void {
    if (this.watches.stored.size === 0) return;
    for (const event of DERIVED_EVENTS) if (!this.#declined.has(event)) this.events.add(event);
  }

  /** All that has this number or a lower one was sent. */
  get sentUpTo(): number {
    return completeUpTo(this);
  }

  moveTo(seq: number, within: string): void {
    this.seq = seq;
    this.within = within;
  }

  /** From here on the events behind a position are sent. */
  goTo({ seq, within }: EventPosition, gapTold: number): void {
    this.moveTo(seq, within);
    this.gapTold = gapTold;
    if (this.course?.seq != null) {
      this.course = null;
      this.held = null;
    }
  }

  /** Sends the text of an event. False when the socket dropped it; then, or when it takes no more, it is blocked. */
  sendEvent(text: string, now: number): boolean {
    return this.#send(text, now);
  }

  /** Sends a reply, now or when the socket takes more. False when too many wait. */
  reply(text: string, now: number): boolean {
    if (!this.blocked && this.#send(text, now)) return true;
    this.#replies.push(text);
    return this.#replies.length <= MAX_WAITING_REPLIES;
  }

  /** The socket takes more: sends waiting replies first. */
  drained(now: number): void {
    this.blockedSince = null;
    while (this.#replies.length > 0 && !this.blocked) {
      if (this.#send(this.#replies[0]!, now)) this.#replies.shift();
    }
  }

  /** Counts one message of the client's. False when there were more than `limit` in 10 s. */
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
    // 0: dropped, since too much waits already. -1: taken, but the buffer is filling.
    const sent = this.socket.send(text, text.length > COMPRESS_ABOVE);
    if (sent <= 0) this.blockedSince ??= now;
    return sent !== 0;
  }
}
