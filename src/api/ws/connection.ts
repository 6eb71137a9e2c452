import type { ServerWebSocket } from 'bun';
import type { Principal } from '../context.ts';

/** What Bun keeps beside a WebSocket. */
export interface SocketData {
  readonly principal: Principal;
  readonly ip: string;
  readonly requestId: string;
  /** Set when the connection is open. */
  connection: Connection | null;
}

/** Close codes of the contract. */
export const CloseCode = {
  GOING_AWAY: 1001,
  UNSUPPORTED: 1003,
  INTERNAL: 1011,
  KEY_REVOKED: 4001,
  SLOW_CONSUMER: 4008,
  MESSAGE_RATE: 4029,
  PROTOCOL: 4400,
} as const;

export const DEFAULT_EVENTS = ['newBlock', 'newTransaction', 'mempoolUpdate'] as const;

/** Replies waiting for a client that asks but does not read. */
const MAX_WAITING_REPLIES = 100;
const COMPRESS_ABOVE = 1024;
const RATE_WINDOW_MS = 10_000;

/** One client: which events it wants, how far it has got in the log, and whether its socket takes more. */
export class Connection {
  readonly socket: ServerWebSocket<SocketData>;
  readonly principal: Principal;
  readonly events = new Set<string>(DEFAULT_EVENTS);
  /** Number of the last event that was sent to it or passed over. */
  cursor: number;
  blockedSince: number | null = null;
  lastHeard: number;
  lastPing: number;
  lastHeartbeat = 0;
  errorsInRow = 0;
  closed = false;
  #replies: string[] = [];
  #windowStart: number;
  #windowCount = 0;

  constructor(socket: ServerWebSocket<SocketData>, cursor: number, now: number) {
    this.socket = socket;
    this.principal = socket.data.principal;
    this.cursor = cursor;
    this.lastHeard = now;
    this.lastPing = now;
    this.#windowStart = now;
  }

  get blocked(): boolean {
    return this.blockedSince !== null;
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
