import type { ServerWebSocket } from 'bun';
import type { Client } from '../auth/client-address.ts';
import {
  type CallerStanding,
  narrowsScopes,
  narrowsWallets,
  SESSION_ENDED,
  WALLETS_CHANGED,
} from '../auth/key-followers.ts';
import type { EventLog } from '../feed/event-log.ts';
import type { MatchedChain, Matcher } from '../feed/matcher.ts';
import type { SeenChange } from '../feed/mempool-feed.ts';
import { snapshotFrames } from '../feed/snapshot.ts';
import type { StoredWatches } from '../feed/stored-watches.ts';
import type { WatchRegistry } from '../feed/watches.ts';
import { fail } from '../http/errors.ts';
import type { ApiOptions } from '../http/options.ts';
import { ownerOf } from '../http/owner.ts';
import { ANONYMOUS, type Principal } from '../http/principal.ts';
import type { NetworkParams } from '../params/network-params.ts';
import type { SyncPhase } from '../port/node-port.ts';
import type { Clock } from '../util/clock.ts';
import { type Counts, LocalCounts } from '../util/counts.ts';
import type { Log } from '../util/log.ts';
import { answerMessage, type MessageReply } from './answer-message.ts';
import { closeBehind, Delivery } from './delivery.ts';
import type { MessageContext } from './message-context.ts';
import { CloseCode, type SocketData, WsConnection } from './ws-connection.ts';
import type { WsMetrics } from './ws-metrics.ts';

const PING_MS = 30_000;
const SILENCE_MS = 75_000;
const HEARTBEAT_MS = 15_000;
const MAX_ERRORS_IN_ROW = 10;
/** Shortest interval between two `syncStatus`, milliseconds. */
const SYNC_STATUS_MS = 1000;
/** Steps of progress. A smaller change is not sent, since the estimate falls a little every second without blocks. */
const PROGRESS_STEPS = 10_000;

export interface HubOptions {
  readonly options: ApiOptions;
  readonly params: NetworkParams;
  readonly log: Log;
  readonly clock: Clock;
  readonly metrics: WsMetrics;
  readonly events: EventLog;
  readonly registry: WatchRegistry;
  readonly matcher: Matcher;
  /** Stored watches of keys. */
  readonly watches: StoredWatches;
  /** State for replies to `status` messages; null before the node is attached. */
  status(): { readonly height: number; readonly hash: string; readonly synced: boolean } | null;
  /** Null before the node is attached. */
  syncStatus(): SyncStatus | null;
  /** Counts that all fronts share; null with one front. */
  readonly sharedCounts: Counts | null;
  /** Waits for an event that another server has sent; absent where there is none. */
  awaitEvent?(after: unknown): Promise<void> | null;
  /** Returns the present rights of a caller. */
  standing(principal: Principal, client: Pick<Client, 'ip'>): CallerStanding;
}

/** Data of `syncStatus`. */
export interface SyncStatus {
  /** `synced` has the meaning of `GET /api/info`. */
  readonly state: 'syncing' | 'synced';
  readonly height: number;
  readonly headers: number;
  /** 0 to 1. */
  readonly progress: number;
  readonly phase: SyncPhase;
  /** In the phase `presync`, the height of the last checked header; otherwise null. */
  readonly presynced: number | null;
}

const ALL_SOCKETS = 'sockets';
const ALL_WATCHED = 'watched by connections';

/** Events without a number, which are not stored for clients that lag behind. */
export type Announcement =
  | 'feeUpdate'
  | 'mempoolBlocks'
  | 'syncStatus'
  | 'peerConnected'
  | 'peerDisconnected'
  | 'webhookDisabled';

/**
 * All WebSocket connections. Each reads the event log at its own pace, from its own position. An event is one text for
 * all clients. The matcher derives messages about watched items once for all clients.
 */
export class Hub {
  readonly #deps: HubOptions;
  readonly #events: EventLog;
  readonly #registry: WatchRegistry;
  readonly #matcher: Matcher;
  readonly #delivery: Delivery;
  readonly #connections = new Set<WsConnection>();
  readonly #timers: readonly ReturnType<typeof setInterval>[];
  readonly #stopped = new AbortController();
  /** Connections in total, and by their caller. */
  readonly #counts: Counts;
  #syncStatus = '';
  #syncStatusAt = Number.NEGATIVE_INFINITY;
  #publishedWatched = 0;

  constructor(deps: HubOptions) {
    this.#deps = deps;
    this.#counts = deps.sharedCounts ?? new LocalCounts();
    this.#events = deps.events;
    this.#registry = deps.registry;
    this.#matcher = deps.matcher;
    const { events, log, clock, metrics } = deps;
    this.#delivery = new Delivery({
      connections: this.#connections,
      events,
      matcher: this.#matcher,
      log,
      clock,
      metrics,
      stopped: this.#stopped.signal,
    });
    events.onGrown(() => this.#delivery.wake());
    deps.watches.onAdded((owner) => {
      for (const connection of this.#connections) if (connection.principal.id === owner) connection.wantStored();
    });
    this.#timers = [
      setInterval(() => this.#sweep(), deps.options.ws.sweepMs),
      setInterval(() => this.#announceSyncStatus(), SYNC_STATUS_MS / 4),
    ];
    for (const timer of this.#timers) timer.unref();
  }

  get size(): number {
    return this.#connections.size;
  }

  get backpressured(): number {
    let count = 0;
    for (const { blocked } of this.#connections) if (blocked) count++;
    return count;
  }

  /** Number of items that connections watch, without the stored watches of keys. */
  get watched(): number {
    return this.#registry.size - this.#deps.watches.total;
  }

  /** Number of the newest event that connections can send. */
  get seq(): number {
    return this.#events.seq;
  }

  /** Attaches the event log; see EventLog. */
  attach(reads: MatchedChain, from?: number): number {
    this.#matcher.attach(reads);
    return this.#events.attach(reads, from);
  }

  /** Called when the chain has committed events up to this number. */
  committed(lastSeq: number): void {
    this.#events.committed(lastSeq);
    this.#announceSyncStatus();
  }

  /** Called with changes of the mempool, in their order among the commits. */
  mempoolChanged(changes: readonly SeenChange[]): void {
    this.#events.append(changes);
  }

  /**
   * Sends an event that is not in the log to its subscribers, except blocked connections; only to those of one key if
   * `owner` is given. `data` is JSON.
   */
  announce(type: Announcement, data: string, owner: string | null = null): void {
    const now = this.#now();
    const text = `{"type":"${type}","data":${data}}`;
    for (const connection of this.#connections) {
      if (!connection.events.has(type) || connection.blocked) continue;
      if (owner !== null && connection.principal.id !== owner) continue;
      this.#deps.metrics.wsMessage(type);
      this.#reply(connection, [text], now);
    }
  }

  /** Returns the connections that subscribe to an event that is not in the log. */
  subscribersOf(type: Announcement): object[] {
    return [...this.#connections].filter(({ events }) => events.has(type));
  }

  /**
   * Counts a connection that is about to open, so that several that open at a time do not exceed a limit. Returns the name
   * under which it is counted. Throws ApiError `too_many_connections`.
   */
  reserve(principal: Principal, ip: string): string {
    const { wsTotal, wsAnonymousPerIp, wsPerKey } = this.#deps.options.limits;
    if (!this.#counts.add(ALL_SOCKETS, wsTotal)) fail('too_many_connections', 'the server has too many connections');
    const name = socketName({ principal, ip });
    const isAnonymous = principal === ANONYMOUS;
    if (this.#counts.add(name, isAnonymous ? wsAnonymousPerIp : wsPerKey)) return name;
    this.#counts.subtract(ALL_SOCKETS);
    return fail('too_many_connections', `this ${isAnonymous ? 'address' : 'key'} has too many connections`);
  }

  /** Ends the count of a connection that does not open, or has closed. */
  release(name: string): void {
    this.#counts.subtract(ALL_SOCKETS);
    this.#counts.subtract(name);
  }

  /** Number of connections of the same key, or of the same address without one, on all fronts. */
  countOf(principal: Principal, ip: string): number {
    return this.#counts.get(socketName({ principal, ip }));
  }

  /** Number of items that connections of all fronts watch. */
  get #watchedByAll(): number {
    const { sharedCounts } = this.#deps;
    if (!sharedCounts) return this.watched;
    this.#publishWatched();
    return sharedCounts.get(ALL_WATCHED);
  }

  #publishWatched(): void {
    const { sharedCounts } = this.#deps;
    const change = this.watched - this.#publishedWatched;
    if (!sharedCounts || change === 0) return;
    if (change > 0) sharedCounts.add(ALL_WATCHED, Number.POSITIVE_INFINITY, change);
    else sharedCounts.subtract(ALL_WATCHED, -change);
    this.#publishedWatched += change;
  }

  /** Closes the connections whose key or secret is no longer valid or has lost rights, and updates the rights of others. */
  checkKeys(): void {
    for (const connection of this.#connections) {
      const { principal, socket } = connection;
      const now = this.#deps.standing(principal, socket.data);
      if (now === principal) continue;
      if (now === 'key_invalid') connection.close(CloseCode.KEY_REVOKED, 'the key is no longer valid');
      else if (now === 'session_ended') connection.close(CloseCode.KEY_REVOKED, SESSION_ENDED);
      else if (now === 'ip_refused')
        connection.close(CloseCode.RIGHTS_CHANGED, 'the key may not be used from this address');
      else if (narrowsScopes(principal, now))
        connection.close(CloseCode.RIGHTS_CHANGED, 'the scopes of the key have changed');
      else if (narrowsWallets(principal, now)) connection.close(CloseCode.RIGHTS_CHANGED, WALLETS_CHANGED);
      else socket.data.principal = now;
    }
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#stopped.abort();
    this.#events.close();
    for (const connection of this.#connections) connection.close(CloseCode.GOING_AWAY, 'shutting down');
  }

  opened(socket: ServerWebSocket<SocketData>): void {
    // Events up to the latest number are not sent, even those that the log has yet to read.
    const { watches } = this.#deps;
    const stored = watches.watchesOfCaller(socket.data.principal);
    const registry = this.#registry;
    const connection = new WsConnection(socket, this.#events.end.seq, this.#now(), { registry, stored });
    socket.data.connection = connection;
    this.#connections.add(connection);
    if (watches.isLoaded) connection.wantStored();
    else void this.#holdUntilLoaded(connection);
  }

  /** Delays events until the stored watches of the key are loaded. */
  async #holdUntilLoaded(connection: WsConnection): Promise<void> {
    connection.waiting = true;
    await this.#deps.watches.loaded;
    connection.wantStored();
    connection.waiting = false;
    this.#delivery.wake();
  }

  received(socket: ServerWebSocket<SocketData>, message: string | Buffer): void {
    const { connection } = socket.data;
    if (!connection || connection.closed) return;
    const now = this.#now();
    connection.lastHeard = now;
    if (typeof message !== 'string') connection.close(CloseCode.UNSUPPORTED, 'text frames only');
    else if (!connection.countMessage(this.#deps.options.limits.wsMessagesPer10s, now))
      connection.close(CloseCode.MESSAGE_RATE, 'too many messages');
    else if (connection.answering) {
      if (!connection.holdMessage(message)) connection.close(CloseCode.MESSAGE_RATE, 'too many messages wait');
    } else this.#answer(message, connection);
  }

  #answer(message: string, connection: WsConnection): void {
    const reply = answerMessage(message, connection, this.#messageContext());
    if (!(reply instanceof Promise)) {
      this.#answered(reply, connection);
      return;
    }
    connection.answering = true;
    reply
      .then((made) => this.#answered(made, connection))
      .catch((error) => this.#delivery.closeOnInternalError(connection, error))
      .finally(() => {
        connection.answering = false;
        // Each of these may be asynchronous again.
        while (!connection.answering && !connection.closed) {
          const message = connection.nextMessage();
          if (message === null) break;
          this.#answer(message, connection);
        }
      });
  }

  #answered(reply: MessageReply, connection: WsConnection): void {
    connection.errorsInRow = reply.failed ? connection.errorsInRow + 1 : 0;
    this.#deps.metrics.wsMessage(reply.type);
    this.#publishWatched();
    this.#reply(connection, [reply.text, ...(reply.followedBy ?? [])], this.#now());
    // An item that is also a stored watch is shown as that watch.
    const shown = reply.snapshot?.map((item) => connection.watches.get(item.key) ?? item);
    if (shown) connection.addSnapshot(snapshotFrames(shown, this.#matcher, this.#events), shown.length);
    if (connection.errorsInRow >= MAX_ERRORS_IN_ROW) connection.close(CloseCode.PROTOCOL, 'too many errors');
    this.#delivery.wake();
  }

  #reply(connection: WsConnection, texts: readonly string[], now: number): void {
    if (!texts.every((text) => connection.reply(text, now)))
      closeBehind(connection, CloseCode.SLOW_CONSUMER, this.#events);
  }

  drained(socket: ServerWebSocket<SocketData>): void {
    socket.data.connection?.drained(this.#now());
    this.#delivery.wake();
  }

  heard(socket: ServerWebSocket<SocketData>): void {
    if (socket.data.connection) socket.data.connection.lastHeard = this.#now();
  }

  closed(socket: ServerWebSocket<SocketData>, code: number): void {
    const { connection, countedAs } = socket.data;
    // Its place was reserved before it was opened.
    this.release(countedAs);
    if (!connection) return;
    connection.closed = true;
    connection.watches.own.clear();
    this.#connections.delete(connection);
    this.#publishWatched();
    this.#deps.metrics.wsClosed(code);
  }

  #sweep(): void {
    const now = this.#now();
    const { wsMaxLagEvents, wsMaxLagMs } = this.#deps.options.limits;
    for (const connection of this.#connections) {
      const { blockedSince } = connection;
      if (now - connection.lastHeard >= SILENCE_MS) connection.socket.terminate();
      else if (blockedSince !== null && now - blockedSince >= wsMaxLagMs)
        closeBehind(connection, CloseCode.SLOW_CONSUMER, this.#events);
      else if (this.seq - connection.seq > wsMaxLagEvents && blockedSince !== null)
        closeBehind(connection, CloseCode.SLOW_CONSUMER, this.#events);
      else this.#keepAlive(connection, now);
    }
  }

  #keepAlive(connection: WsConnection, now: number): void {
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

  #announceSyncStatus(): void {
    const now = this.#now();
    // The timer sends it later.
    if (now - this.#syncStatusAt < SYNC_STATUS_MS) return;
    // A status that no client receives must not delay the next one.
    if (this.subscribersOf('syncStatus').length === 0) return;
    const data = this.#deps.syncStatus();
    if (data === null) return;
    const key = JSON.stringify({ ...data, progress: Math.floor(data.progress * PROGRESS_STEPS) });
    if (key === this.#syncStatus) return;
    this.#syncStatus = key;
    this.#syncStatusAt = now;
    this.announce('syncStatus', JSON.stringify(data));
  }

  #messageContext(): MessageContext {
    const { params, status, options } = this.#deps;
    return {
      log: this.#events,
      registry: this.#registry,
      params,
      maxWatched: options.limits.wsWatched,
      maxWatchedInAll: options.limits.wsWatchedTotal,
      watchedInAll: () => this.#watchedByAll,
      awaitEvent: (after) => this.#deps.awaitEvent?.(after) ?? null,
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

function socketName(caller: Pick<SocketData, 'principal' | 'ip'>): string {
  return `sockets ${ownerOf(caller)}`;
}
