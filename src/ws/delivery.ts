import { framesOf, isPlain } from '../feed/derived.ts';
import { WHOLE } from '../feed/event-cursor.ts';
import type { EventLog } from '../feed/event-log.ts';
import { MEMPOOL_TYPES } from '../feed/event-types.ts';
import type { Frame, FrameStep } from '../feed/frame.ts';
import type { Matcher } from '../feed/matcher.ts';
import { ApiError } from '../http/errors.ts';
import type { Clock } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import { CloseCode, type Course, type WsConnection } from './ws-connection.ts';
import type { WsMetrics } from './ws-metrics.ts';

/** Time limit of one slice of sending, milliseconds. */
const SLICE_MS = 2;
const PAGE = 200;
/** Failed attempts to derive a message after which a connection is closed. */
const MAX_FAILURES = 5;
/** Pause before the next attempt, milliseconds. */
const RETRY_MS = 500;

export interface DeliveryOptions {
  readonly connections: ReadonlySet<WsConnection>;
  readonly events: EventLog;
  readonly matcher: Matcher;
  readonly log: Log;
  readonly clock: Clock;
  readonly metrics: Pick<WsMetrics, 'wsMessage'>;
  readonly stopped: AbortSignal;
}

/** Delivers the events that each connection lacks, in time slices and in rounds over all connections. */
export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #connections: ReadonlySet<WsConnection>;
  readonly #events: EventLog;
  readonly #matcher: Matcher;
  #scheduled = false;
  #round: Iterator<WsConnection> | null = null;
  #unfinished: WsConnection | null = null;
  /** True if connections already served in this round may have something new to send. */
  #again = false;

  constructor(options: DeliveryOptions) {
    this.#options = options;
    this.#connections = options.connections;
    this.#events = options.events;
    this.#matcher = options.matcher;
  }

  /** Called when there are new events, or when a socket has drained. */
  wake(): void {
    this.#again = true;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || this.#connections.size === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      try {
        this.#runSlice();
      } catch (error) {
        this.#options.log.error('event delivery failed', { error });
      }
    });
  }

  /** Sends for one slice, and schedules the next one if there is more to send. */
  #runSlice(): void {
    const until = performance.now() + SLICE_MS;
    let connection = this.#nextInRound();
    while (connection) {
      const done = this.#pump(connection, until);
      if (performance.now() >= until) {
        // The next slice continues here. If each began with the first connections, the others would starve.
        this.#unfinished = done ? null : connection;
        this.#schedule();
        return;
      }
      connection = this.#nextInRound();
    }
    if (this.#again) this.#schedule();
  }

  #nextInRound(): WsConnection | null {
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

  /** Sends one connection the events that it lacks. Returns false if the slice ended first. */
  #pump(connection: WsConnection, until: number): boolean {
    for (;;) {
      if (!isReady(connection)) return true;
      if (connection.course && !this.#run(connection, connection.course, until)) return !isReady(connection);
      const snapshot = connection.nextSnapshot();
      if (snapshot) connection.course = { frames: snapshot, seq: null };
      else if (connection.sentUpTo >= this.#events.seq) return true;
      else if (isPlain(connection)) {
        if (!this.#sendPlain(connection, until)) return false;
      } else this.#startNext(connection);
      if (performance.now() >= until) return !connection.course && connection.sentUpTo >= this.#events.seq;
    }
  }

  /** Sends events unchanged, the same text to every client. Returns false if the slice ended first. */
  #sendPlain(connection: WsConnection, until: number): boolean {
    if (this.#misses(connection)) return true;
    // No messages are derived for this client, so an event is its only message with that number.
    connection.within = WHOLE;
    const { entries, scanned } = this.#events.after(connection.seq, PAGE);
    for (const { seq, type, text } of entries) {
      if (connection.events.has(type)) {
        if (!connection.sendEvent(text, this.#options.clock.monotonicMs())) return true;
        this.#options.metrics.wsMessage(type);
      }
      connection.seq = seq;
      if (connection.blocked || connection.closed) return true;
      if (performance.now() >= until) return connection.seq >= this.#events.seq;
    }
    connection.seq = scanned;
    return true;
  }

  #startNext(connection: WsConnection): void {
    if (this.#misses(connection)) return;
    const { seq, within, sentUpTo } = connection;
    const { entries, scanned } = this.#events.after(sentUpTo, 1);
    const [entry] = entries;
    if (!entry) connection.moveTo(scanned, WHOLE);
    else {
      const behind = entry.seq === seq ? within : null;
      connection.course = { frames: framesOf(entry, connection, this.#matcher, behind), seq: entry.seq };
    }
  }

  /** Sends the messages of a course. Returns true when all of them are sent. */
  #run(connection: WsConnection, course: Course, until: number): boolean {
    while (connection.course === course) {
      if (connection.held && !this.#sendHeld(connection, connection.held)) return false;
      const step = this.#next(connection, course.frames);
      if (step === undefined) {
        if (course.seq !== null) connection.moveTo(course.seq, WHOLE);
        connection.course = null;
        connection.failures = 0;
        return true;
      }
      if (step instanceof Promise) {
        this.#await(connection, step);
        return false;
      }
      connection.held = step;
      if (performance.now() >= until) return false;
    }
    return false;
  }

  #next(connection: WsConnection, frames: Iterator<FrameStep>): FrameStep | undefined {
    try {
      const { value, done } = frames.next();
      return done ? undefined : value;
    } catch (error) {
      if (!this.#closeAtPruned(connection, error)) this.closeOnInternalError(connection, error);
      return undefined;
    }
  }

  /** Reports that the block of an event has been pruned, and closes the connection. Returns false for another error. */
  #closeAtPruned(connection: WsConnection, error: unknown): boolean {
    if (!(error instanceof ApiError) || error.failure !== 'block_pruned') return false;
    const { failure: code, message, details } = error;
    const text = JSON.stringify({ type: 'error', data: { code, message, details } });
    connection.sendEvent(text, this.#options.clock.monotonicMs());
    closeBehind(connection, CloseCode.TRY_LATER, this.#events);
    return true;
  }

  #sendHeld(connection: WsConnection, { type, text, within }: Frame): boolean {
    if (!connection.sendEvent(text, this.#options.clock.monotonicMs())) return false;
    connection.held = null;
    const seq = connection.course?.seq ?? null;
    if (seq !== null && within !== undefined) connection.moveTo(seq, within);
    this.#options.metrics.wsMessage(type);
    return isReady(connection);
  }

  #await(connection: WsConnection, made: Promise<void>): void {
    connection.waiting = true;
    made
      .catch(async (error) => {
        if (this.#options.stopped.aborted || connection.closed) return;
        this.#options.log.warn('deriving the messages of an event failed', { error });
        if (this.#closeAtPruned(connection, error)) return;
        if (++connection.failures >= MAX_FAILURES) closeBehind(connection, CloseCode.TRY_LATER, this.#events);
        await Bun.sleep(RETRY_MS);
      })
      .finally(() => {
        connection.waiting = false;
        this.wake();
      });
  }

  /** Whether mempool events that the client wants were evicted before they were sent. Then the connection is closed. */
  #misses(connection: WsConnection): boolean {
    const { sentUpTo, gapReportedTo, events } = connection;
    if (Math.max(sentUpTo, gapReportedTo) >= this.#events.lostTo || !MEMPOOL_TYPES.some((type) => events.has(type)))
      return false;
    if (this.#events.gapTo >= this.#events.lostTo) return !this.#reportGap(connection);
    closeBehind(connection, CloseCode.SLOW_CONSUMER, this.#events);
    return true;
  }

  /** Reports events of the mempool that the log never had. Returns false if the connection takes no message now. */
  #reportGap(connection: WsConnection): boolean {
    const point = { seq: connection.sentUpTo, within: WHOLE, chainSeq: null } as const;
    const gaps = this.#events.gapsBehind(point, connection.events);
    const now = this.#options.clock.monotonicMs();
    const isSent = gaps.every((gap) => connection.sendEvent(JSON.stringify({ type: 'gap', data: gap }), now));
    if (isSent) connection.gapReportedTo = this.#events.lostTo;
    return isSent;
  }

  /** Closes a connection that an internal fault keeps from being served. */
  closeOnInternalError(connection: WsConnection, error: unknown): void {
    this.#options.log.error('connection closed after an internal error', { error });
    connection.close(CloseCode.INTERNAL, 'internal error');
  }
}

/** Closes a connection that cannot continue. The reason holds the cursor of the last event sent, for a resume. */
export function closeBehind(connection: WsConnection, code: number, events: EventLog): void {
  if (!connection.closed) connection.close(code, `resume after ${events.cursorAt(connection)}`);
}

function isReady({ blocked, closed, waiting }: WsConnection): boolean {
  return !blocked && !closed && !waiting;
}
