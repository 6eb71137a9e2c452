import type { ServerWebSocket } from 'bun';
import type { MempoolChange } from '../../mempool/changes.ts';
import type { NetworkParams } from '../../params/network-params.ts';
import type { ChainReads } from '../../storage/chain-reads.ts';
import type { Clock } from '../../util/clock.ts';
import type { Log } from '../../util/log.ts';
import { type Frame, framesOf, isPlain, type Step } from '../events/derived.ts';
import type { EventLog } from '../events/event-log.ts';
import { Matcher } from '../events/matcher.ts';
import { snapshotFrames } from '../events/snapshot.ts';
import { WatchRegistry } from '../events/watches.ts';
import type { ApiMetrics } from '../ops/metrics.ts';
import type { ApiOptions } from '../options.ts';
import type { ReaderJob, ReaderResult } from '../reader-jobs.ts';
import { CloseCode, Connection, type SocketData } from './connection.ts';
import { answerMessage, type MessageReply, type MessageWorld } from './messages.ts';

const PING_MS = 30_000;
const SILENCE_MS = 75_000;
const HEARTBEAT_MS = 15_000;
/** One turn of sending; then other requests have their turn. */
const SLICE_MS = 2;
const PAGE = 200;
const MAX_ERRORS_IN_ROW = 10;
/** What cannot be worked out is tried again after a while, so often. */
const MAX_FAILURES = 5;
const RETRY_MS = 500;

export interface HubOptions {
  readonly options: ApiOptions;
  readonly params: NetworkParams;
  readonly log: Log;
  readonly clock: Clock;
  readonly metrics: ApiMetrics;
  readonly events: EventLog;
  /** For the states that clients ask about. */
  status(): { readonly height: number; readonly hash: string; readonly synced: boolean } | null;
  /** Data of `syncStatus`; null before there is a node. */
  syncStatus(): object | null;
  isLive(principal: Connection['principal']): boolean;
  /** Does a job on a reader worker. */
  runJob(job: ReaderJob, signal: AbortSignal): Promise<ReaderResult>;
}

/** Events without a number, that are not kept for whoever is behind. */
export type Announcement = 'feeUpdate' | 'syncStatus' | 'walletTransaction' | 'peerConnected' | 'peerDisconnected';

/**
 * All WebSocket connections. Each goes through the event log at its own pace, with its own cursor. An event is one text
 * for all; what is told only to those who watch something is worked out once by the matcher.
 */
export class Hub {
  readonly #deps: HubOptions;
  readonly #events: EventLog;
  readonly #registry = new WatchRegistry();
  readonly #matcher: Matcher;
  readonly #connections = new Set<Connection>();
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #stopped = new AbortController();
  #syncStatus = '';
  #scheduled = false;
  #round: Iterator<Connection> | null = null;
  #unfinished: Connection | null = null;
  /** Something happened since the round began that connections already passed may have to do with. */
  #again = false;

  constructor(deps: HubOptions) {
    this.#deps = deps;
    this.#events = deps.events;
    this.#matcher = new Matcher({
      registry: this.#registry,
      runJob: (job) => deps.runJob(job, this.#stopped.signal),
    });
    deps.events.onGrown(() => this.#wake());
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

  /** Items watched over all connections. */
  get watched(): number {
    return this.#registry.size;
  }

  /** Number of the newest event handed to the connections. */
  get seq(): number {
    return this.#events.seq;
  }

  /** From now on there is a log; what is in it already is not news. */
  attach(reads: ChainReads): void {
    this.#events.attach(reads);
    this.#matcher.attach(reads);
  }

  /** The chain has written events up to this number. */
  committed(lastSeq: number): void {
    this.#events.committed(lastSeq);
    this.#tellSyncStatus();
  }

  /** Steps of the mempool, in order, and in order with the commits. */
  mempoolChanged(changes: readonly MempoolChange[]): void {
    this.#events.append(changes);
  }

  /** Tells those who asked for it something that is not in the log; `data` is JSON. Whoever is behind does not get it. */
  announce(type: Announcement, data: string): void {
    const now = this.#now();
    const text = `{"type":"${type}","data":${data}}`;
    for (const connection of this.#connections)
      if (connection.events.has(type) && !connection.blocked) this.#reply(connection, [text], now);
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
    this.#stopped.abort();
    this.#events.close();
    for (const connection of this.#connections) connection.close(CloseCode.GOING_AWAY, 'shutting down');
  }

  opened(socket: ServerWebSocket<SocketData>): void {
    // What there is by now is no news, even where it has yet to be read.
    const connection = new Connection(socket, this.#events.latest, this.#now(), this.#registry);
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
    else if (connection.answering) connection.inbox.push(message);
    else this.#answer(message, connection);
  }

  #answer(message: string, connection: Connection): void {
    const reply = answerMessage(message, connection, this.#world());
    if (!(reply instanceof Promise)) {
      this.#answered(reply, connection);
      return;
    }
    connection.answering = true;
    reply
      .then((made) => this.#answered(made, connection))
      .catch((error) => this.#broken(connection, error))
      .finally(() => {
        connection.answering = false;
        // Each may take its time again.
        while (!connection.answering && !connection.closed && connection.inbox.length > 0)
          this.#answer(connection.inbox.shift()!, connection);
      });
  }

  #answered(reply: MessageReply, connection: Connection): void {
    connection.errorsInRow = reply.failed ? connection.errorsInRow + 1 : 0;
    this.#deps.metrics.wsMessage(reply.type);
    this.#reply(connection, [reply.text, ...(reply.followedBy ?? [])], this.#now());
    if (reply.snapshot) connection.inserted.push(snapshotFrames(reply.snapshot, this.#matcher, this.#events));
    if (connection.errorsInRow >= MAX_ERRORS_IN_ROW) connection.close(CloseCode.PROTOCOL, 'too many errors');
    this.#wake();
  }

  #reply(connection: Connection, texts: readonly string[], now: number): void {
    if (!texts.every((text) => connection.reply(text, now))) this.#tooSlow(connection);
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
    connection.watches.clear();
    this.#connections.delete(connection);
    this.#deps.metrics.wsClosed(code);
  }

  #wake(): void {
    this.#again = true;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || this.#connections.size === 0) return;
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

  /** Sends for a short while; comes back when there is more to do. */
  #turn(): void {
    const until = performance.now() + SLICE_MS;
    let connection = this.#nextInRound();
    while (connection) {
      const done = this.#pump(connection, until);
      if (performance.now() >= until) {
        // A round that was cut short goes on where it stopped, or the first connections would starve the others.
        this.#unfinished = done ? null : connection;
        this.#schedule();
        return;
      }
      connection = this.#nextInRound();
    }
    if (this.#again) this.#schedule();
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

  /** Sends one connection what it lacks. False when the time was up first. */
  #pump(connection: Connection, until: number): boolean {
    for (;;) {
      if (!isReady(connection)) return true;
      if (connection.course && !this.#run(connection, connection.course, until)) return !isReady(connection);
      const inserted = connection.inserted.shift();
      if (inserted) connection.course = { frames: inserted, seq: null };
      else if (connection.cursor >= this.#events.seq) return true;
      else if (isPlain(connection)) {
        if (!this.#sendPlain(connection, until)) return false;
      } else this.#takeNext(connection);
      if (performance.now() >= until) return !connection.course && connection.cursor >= this.#events.seq;
    }
  }

  /** Sends events as they are, the same text to everybody. False when the time was up first. */
  #sendPlain(connection: Connection, until: number): boolean {
    if (this.#misses(connection)) return true;
    const { entries, scanned } = this.#events.after(connection.cursor, PAGE);
    for (const { seq, type, text } of entries) {
      if (connection.events.has(type)) {
        if (!connection.sendEvent(text, this.#now())) return true;
        this.#deps.metrics.wsMessage(type);
      }
      connection.cursor = seq;
      if (connection.blocked || connection.closed) return true;
      if (performance.now() >= until) return connection.cursor >= this.#events.seq;
    }
    connection.cursor = scanned;
    return true;
  }

  #takeNext(connection: Connection): void {
    if (this.#misses(connection)) return;
    const { entries, scanned } = this.#events.after(connection.cursor, 1);
    const [entry] = entries;
    if (!entry) connection.cursor = scanned;
    else connection.course = { frames: framesOf(entry, connection, this.#matcher), seq: entry.seq };
  }

  /** Sends what is under way. True when all of it is sent. */
  #run(connection: Connection, course: NonNullable<Connection['course']>, until: number): boolean {
    while (connection.course === course) {
      if (connection.held && !this.#sendHeld(connection, connection.held)) return false;
      const step = this.#next(connection, course.frames);
      if (step === undefined) {
        if (course.seq !== null) connection.cursor = course.seq;
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

  #next(connection: Connection, frames: Iterator<Step>): Step | undefined {
    try {
      const { value, done } = frames.next();
      return done ? undefined : value;
    } catch (error) {
      this.#broken(connection, error);
      return undefined;
    }
  }

  #sendHeld(connection: Connection, { type, text }: Frame): boolean {
    if (!connection.sendEvent(text, this.#now())) return false;
    connection.held = null;
    this.#deps.metrics.wsMessage(type);
    return isReady(connection);
  }

  #await(connection: Connection, made: Promise<void>): void {
    connection.waiting = true;
    made
      .catch(async (error) => {
        if (this.#stopped.signal.aborted || connection.closed) return;
        this.#deps.log.warn('an event could not be worked out', { error });
        if (++connection.failures >= MAX_FAILURES)
          connection.close(CloseCode.TRY_LATER, `resume after ${connection.cursor}`);
        await Bun.sleep(RETRY_MS);
      })
      .finally(() => {
        connection.waiting = false;
        this.#wake();
      });
  }

  /** Events of the mempool that it wants and has not had are gone: it cannot go on as if nothing were. */
  #misses(connection: Connection): boolean {
    const { cursor, gapTold, events } = connection;
    if (Math.max(cursor, gapTold) >= this.#events.lostTo || !FROM_MEMPOOL.some((type) => events.has(type)))
      return false;
    this.#tooSlow(connection);
    return true;
  }

  #broken(connection: Connection, error: unknown): void {
    this.#deps.log.error('a connection failed', { error });
    connection.close(CloseCode.INTERNAL, 'internal error');
  }

  #sweep(): void {
    const now = this.#now();
    const { wsMaxLagEvents, wsMaxLagMs } = this.#deps.options.limits;
    for (const connection of this.#connections) {
      const { blockedSince } = connection;
      if (now - connection.lastHeard >= SILENCE_MS) connection.socket.terminate();
      else if (blockedSince !== null && now - blockedSince >= wsMaxLagMs) this.#tooSlow(connection);
      else if (this.seq - connection.cursor > wsMaxLagEvents && blockedSince !== null) this.#tooSlow(connection);
      else this.#keepAlive(connection, now);
    }
    this.#tellSyncStatus();
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
    const data = { time: this.#unixTime(), seq: this.seq, height: status?.height ?? null, hash: status?.hash ?? null };
    connection.reply(JSON.stringify({ type: 'heartbeat', data }), now);
  }

  #tellSyncStatus(): void {
    if (this.#connections.size === 0) return;
    const data = JSON.stringify(this.#deps.syncStatus());
    if (data === this.#syncStatus) return;
    this.#syncStatus = data;
    if (data !== 'null') this.announce('syncStatus', data);
  }

  #tooSlow(connection: Connection): void {
    connection.close(CloseCode.SLOW_CONSUMER, `resume after ${connection.cursor}`);
  }

  #world(): MessageWorld {
    const { params, status, options } = this.#deps;
    return {
      log: this.#events,
      registry: this.#registry,
      params,
      maxWatched: options.limits.wsWatched,
      maxWatchedInAll: options.limits.wsWatchedTotal,
      time: this.#unixTime(),
      status: status(),
    };
  }

  #now(): number {
    return this.#deps.clock.monotonicMs();
  }

  #unixTime(): number {
    return Math.floor(this.#deps.clock.nowMs() / 1000);
  }
}

const FROM_MEMPOOL = ['newTransaction', 'mempoolUpdate', 'transactionRemoved', 'addressTransaction', 'confirmation'];

function isReady({ blocked, closed, waiting }: Connection): boolean {
  return !blocked && !closed && !waiting;
}
