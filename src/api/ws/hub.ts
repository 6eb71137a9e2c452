import type { ServerWebSocket } from 'bun';
import type { ChainReads } from '../../storage/chain-reads.ts';
import type { Clock } from '../../util/clock.ts';
import type { Log } from '../../util/log.ts';
import type { ApiMetrics } from '../ops/metrics.ts';
import type { ApiOptions } from '../options.ts';
import { CloseCode, Connection, type SocketData } from './connection.ts';
import { answerMessage, type MessageWorld } from './messages.ts';

/** An event as it is sent. */
interface Frame {
  readonly seq: number;
  readonly type: string;
  readonly text: string;
}

const PING_MS = 30_000;
const SILENCE_MS = 75_000;
const HEARTBEAT_MS = 15_000;
/** One turn of sending; then other requests have their turn. */
const SLICE_MS = 2;
const PAGE = 200;
/** Frames kept in memory, for the connections that keep up. */
const RECENT = 2000;
const MAX_ERRORS_IN_ROW = 10;

export interface HubOptions {
  readonly options: ApiOptions;
  readonly log: Log;
  readonly clock: Clock;
  readonly metrics: ApiMetrics;
  /** For the states that clients ask about. */
  status(): { readonly height: number; readonly hash: string; readonly synced: boolean } | null;
  isLive(principal: Connection['principal']): boolean;
}

/**
 * All WebSocket connections. Each goes through the event log at its own pace, with its own cursor; those that keep up
 * are served from a few recent frames in memory, so that an event is read from the log and turned into text once.
 */
export class Hub {
  readonly #deps: HubOptions;
  readonly #connections = new Set<Connection>();
  readonly #timer: ReturnType<typeof setInterval>;
  #reads: ChainReads | null = null;
  /** Number of the newest event read from the log. */
  #seq = 0;
  #recent: Frame[] = [];
  #scheduled = false;
  #round: Iterator<Connection> | null = null;
  #unfinished: Connection | null = null;
  /** Something happened since the round began that connections already passed may have to do with. */
  #again = false;

  constructor(deps: HubOptions) {
    this.#deps = deps;
    this.#timer = setInterval(() => this.#sweep(), deps.options.ws.sweepMs);
    this.#timer.unref();
  }

  get size(): number {
    return this.#connections.size;
  }

  get backpressured(): number {
    let count = 0;
    for (const { blocked } of this.#connections) if (blocked) count++;
    return count;
  }

  /** Number of the newest event handed to the connections. */
  get seq(): number {
    return this.#seq;
  }

  /** From now on there is a log; what is in it already is not news. */
  attach(reads: ChainReads): void {
    this.#reads = reads;
    this.#seq = reads.events.bounds().last;
  }

  /** The log has grown. */
  committed(): void {
    this.#wake();
  }

  count(of: (data: SocketData) => boolean): number {
    let count = 0;
    for (const { socket } of this.#connections) if (of(socket.data)) count++;
    return count;
  }

  /** Closes the connections of keys that are revoked or expired. */
  checkKeys(): void {
    for (const connection of this.#connections)
      if (!this.#deps.isLive(connection.principal))
        connection.close(CloseCode.KEY_REVOKED, 'the key is no longer valid');
  }

  stop(): void {
    clearInterval(this.#timer);
    for (const connection of this.#connections) connection.close(CloseCode.GOING_AWAY, 'shutting down');
  }

  opened(socket: ServerWebSocket<SocketData>): void {
    // What the log holds by now is no news, even where the hub has yet to read it.
    const connection = new Connection(socket, this.#reads?.events.bounds().last ?? 0, this.#now());
    socket.data.connection = connection;
    this.#connections.add(connection);
  }

  received(socket: ServerWebSocket<SocketData>, message: string | Buffer): void {
    const { connection } = socket.data;
    if (!connection || connection.closed) return;
    const now = this.#now();
    connection.lastHeard = now;
    if (typeof message !== 'string') connection.close(CloseCode.UNSUPPORTED, 'text frames only');
    else if (!connection.countMessage(this.#deps.options.limits.wsMessagesPer10s, now))
      connection.close(CloseCode.MESSAGE_RATE, 'too many messages');
    else this.#answer(message, connection, now);
  }

  #answer(message: string, connection: Connection, now: number): void {
    const reply = answerMessage(message, connection, this.#world());
    connection.errorsInRow = reply.failed ? connection.errorsInRow + 1 : 0;
    this.#deps.metrics.wsMessage(reply.type);
    const texts = [reply.text, ...(reply.followedBy ?? [])];
    if (!texts.every((text) => connection.reply(text, now))) this.#tooSlow(connection);
    if (connection.errorsInRow >= MAX_ERRORS_IN_ROW) connection.close(CloseCode.PROTOCOL, 'too many errors');
    this.#wake();
  }

  drained(socket: ServerWebSocket<SocketData>): void {
    socket.data.connection?.drained(this.#now());
    this.#wake();
  }

  heard(socket: ServerWebSocket<SocketData>): void {
    if (socket.data.connection) socket.data.connection.lastHeard = this.#now();
  }

  closed(socket: ServerWebSocket<SocketData>, code: number): void {
    const { connection } = socket.data;
    if (!connection) return;
    connection.closed = true;
    this.#connections.delete(connection);
    this.#deps.metrics.wsClosed(code);
  }

  #wake(): void {
    this.#again = true;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      try {
        this.#turn();
      } catch (error) {
        this.#deps.log.error('events cannot be delivered', { error });
      }
    });
  }

  /** Reads what is new and sends for a short while; comes back when there is more to do. */
  #turn(): void {
    if (!this.#reads) return;
    const until = performance.now() + SLICE_MS;
    const more = this.#readLog(this.#reads);
    let connection = this.#nextInRound();
    while (connection) {
      const done = this.#pump(connection, this.#reads, until);
      if (performance.now() >= until) {
        // A round that was cut short goes on where it stopped, or the first connections would starve the others.
        this.#unfinished = done ? null : connection;
        this.#schedule();
        return;
      }
      connection = this.#nextInRound();
    }
    if (more || this.#again) this.#schedule();
  }

  #nextInRound(): Connection | null {
    if (this.#unfinished) {
      const connection = this.#unfinished;
      this.#unfinished = null;
      return connection;
    }
    if (!this.#round) {
      this.#round = this.#connections.values();
      this.#again = false;
    }
    const { value, done } = this.#round.next();
    if (!done) return value;
    this.#round = null;
    return null;
  }

  #readLog({ events }: ChainReads): boolean {
    const rows = events.after(this.#seq, PAGE);
    for (const { seq, type, data } of rows) {
      this.#deps.metrics.event(type, data);
      this.#recent.push({ seq, type, text: eventText(type, data) });
    }
    if (this.#recent.length > RECENT) this.#recent.splice(0, this.#recent.length - RECENT);
    this.#seq = rows.at(-1)?.seq ?? this.#seq;
    if (rows.length > 0) this.#again = true;
    return rows.length === PAGE;
  }

  /** Sends one connection what it lacks. False when the time was up first. */
  #pump(connection: Connection, reads: ChainReads, until: number): boolean {
    while (connection.cursor < this.#seq && !connection.blocked && !connection.closed) {
      const frames = this.#framesAfter(connection.cursor, reads);
      if (frames.length === 0) {
        connection.cursor = this.#seq;
        break;
      }
      for (const { seq, type, text } of frames) {
        if (connection.events.has(type)) {
          if (!connection.sendEvent(text, this.#now())) return true;
          this.#deps.metrics.wsMessage(type);
        }
        connection.cursor = seq;
        if (connection.blocked) return true;
        if (performance.now() >= until) return connection.cursor >= this.#seq;
      }
    }
    return true;
  }

  #framesAfter(cursor: number, reads: ChainReads): readonly Frame[] {
    const recent = this.#recent;
    if (recent.length === 0 || cursor < recent[0]!.seq - 1) {
      const rows = reads.events.after(cursor, PAGE).filter(({ seq }) => seq <= this.#seq);
      return rows.map(({ seq, type, data }) => ({ seq, type, text: eventText(type, data) }));
    }
    let low = 0;
    let high = recent.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (recent[middle]!.seq <= cursor) low = middle + 1;
      else high = middle;
    }
    return recent.slice(low, low + PAGE);
  }

  #sweep(): void {
    const now = this.#now();
    const { wsMaxLagEvents, wsMaxLagMs } = this.#deps.options.limits;
    for (const connection of this.#connections) {
      const { blockedSince } = connection;
      if (now - connection.lastHeard >= SILENCE_MS) connection.socket.terminate();
      else if (blockedSince !== null && now - blockedSince >= wsMaxLagMs) this.#tooSlow(connection);
      else if (this.#seq - connection.cursor > wsMaxLagEvents && blockedSince !== null) this.#tooSlow(connection);
      else this.#keepAlive(connection, now);
    }
  }

  #keepAlive(connection: Connection, now: number): void {
    if (now - connection.lastPing >= PING_MS) {
      connection.lastPing = now;
      connection.socket.ping();
    }
    if (!connection.events.has('heartbeat') || connection.blocked || now - connection.lastHeartbeat < HEARTBEAT_MS)
      return;
    connection.lastHeartbeat = now;
    const status = this.#deps.status();
    const data = { time: this.#unixTime(), seq: this.#seq, height: status?.height ?? null, hash: status?.hash ?? null };
    connection.reply(JSON.stringify({ type: 'heartbeat', data }), now);
  }

  #tooSlow(connection: Connection): void {
    connection.close(CloseCode.SLOW_CONSUMER, `resume after ${connection.cursor}`);
  }

  #world(): MessageWorld {
    const bounds = this.#reads?.events.bounds() ?? { oldest: 0, last: 0 };
    return { seq: bounds.last, oldestSeq: bounds.oldest, time: this.#unixTime(), status: this.#deps.status() };
  }

  #now(): number {
    return this.#deps.clock.monotonicMs();
  }

  #unixTime(): number {
    return Math.floor(this.#deps.clock.nowMs() / 1000);
  }
}

/** The log holds the data as JSON text already. */
function eventText(type: string, data: string): string {
  return `{"type":"${type}","data":${data}}`;
}
