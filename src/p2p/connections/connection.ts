import { type Clock, unixSeconds } from '../../util/clock.ts';
import type { LogFields } from '../../util/log-levels.ts';
import type { NetService } from '../address/net-address.ts';
import { type NetworkClass, networkClassOf } from '../address/net-group.ts';
import { encodeMessage, type MessageType, type ValueOf } from '../messages/messages.ts';
import type { NetMessage, Protocol, Transport, TransportEvent } from '../transport/transport.ts';
import { V2Transport } from '../transport/v2-transport.ts';
import type { ByteStream } from './byte-stream.ts';
import {
  type ConnectionType,
  countBytes,
  newStanding,
  newTraffic,
  OTHER_MESSAGES,
  type PeerLink,
  type Permission,
} from './peer-link.ts';
import { HARD_SEND_LIMIT, SendQueue, SOFT_SEND_LIMIT } from './send-queue.ts';

/** Size of queued received messages at which reading pauses, bytes. Core's default for -maxreceivebuffer. */
const RECEIVE_LIMIT = 5_000_000;
/** Memory of a queued message beyond its bytes. */
const OVERHEAD = 128;
/** Replaces the send and receive limits while the memory of all peers together is high. */
const HIGH_MEMORY_LIMIT = 250_000;

export type Direction = 'sent' | 'received';

/** Observer of a connection. Never called from within a method of the connection, except `start`. */
export interface ConnectionEvents {
  /** Messages can be sent. Called at most once. */
  opened(connection: Connection): void;
  /** A message is ready to be processed. May be called repeatedly. */
  messageReady(connection: Connection): void;
  /** The connection is about to be closed. Called once, before `closed`, and only to observe. */
  closing(connection: Connection, reason: string): void;
  /** The connection is closed. Called once, in a separate microtask. */
  closed(connection: Connection, reason: string): void;
  transferred(sent: number, received: number): void;
  /** A message was queued or received; one that could not be decoded has an empty type. */
  message(direction: Direction, type: string): void;
  sent(connection: Connection, type: string, payload: Uint8Array): void;
  /** The transport could not interpret a message, or any further bytes. */
  failed(connection: Connection, reason: string, facts?: LogFields): void;
  /** The memory used for the peer changed by `bytes`. May disconnect this or another peer. */
  memoryChanged(bytes: number): void;
  /** Whether the memory of all peers together is high. */
  readonly memoryHigh: boolean;
  /** An internal error prevents further processing. */
  internalError(connection: Connection, error: unknown): void;
}

export interface ConnectionOptions {
  readonly id: number;
  readonly type: ConnectionType;
  readonly service: NetService;
  readonly name: string;
  readonly permissions: ReadonlySet<Permission>;
  readonly transport: Transport;
  readonly stream: ByteStream;
  readonly clock: Clock;
  /** Whether the address was discouraged when the peer connected. */
  readonly preferEvict?: boolean;
  /** Whether the peer has connected to an onion service of this node, so that its address is unknown. */
  readonly isOnion?: boolean;
}

/** A byte stream with its transport protocol and message queues. */
export class Connection implements PeerLink {
  readonly id: number;
  readonly type: ConnectionType;
  readonly service: NetService;
  readonly name: string;
  readonly localService: NetService | null;
  readonly network: NetworkClass;
  readonly permissions: ReadonlySet<Permission>;
  readonly openedAt: number;
  readonly preferEvict: boolean;
  readonly traffic = newTraffic();
  readonly standing = newStanding();
  /** Times on the monotonic clock, milliseconds; null for never. */
  readonly startedMs: number;
  lastSentMs: number | null = null;
  lastReceivedMs: number | null = null;
  readonly #transport: Transport;
  readonly #stream: ByteStream;
  readonly #clock: Clock;
  readonly #events: ConnectionEvents;
  readonly #sending = new SendQueue();
  readonly #received: NetMessage[] = [];
  /** Resolvers of `whenWritable`. At most one message of a peer is processed at a time. */
  readonly #waiting: (() => void)[] = [];
  #receivedHead = 0;
  #receivedSize = 0;
  /** Size of the message that is being processed. */
  #inWork = 0;
  #kept = 0;
  /** Monotonic milliseconds since when an incomplete message is held; null for none. */
  #heldSince: number | null = null;
  #paused = false;
  #opened = false;
  #closed = false;
  #dropped = 0;
  #retryV1 = false;
  #closeFacts: LogFields = {};

  constructor(options: ConnectionOptions, events: ConnectionEvents) {
    const {
      id,
      type,
      service,
      name,
      permissions,
      transport,
      stream,
      clock,
      preferEvict = false,
      isOnion = false,
    } = options;
    this.id = id;
    this.type = type;
    this.service = service;
    this.name = name;
    this.permissions = permissions;
    this.preferEvict = preferEvict;
    this.localService = stream.local;
    this.network = isOnion ? 'onion' : networkClassOf(service.address);
    this.openedAt = unixSeconds(clock);
    this.startedMs = clock.monotonicMs();
    this.#transport = transport;
    this.#stream = stream;
    this.#clock = clock;
    this.#events = events;
  }

  get protocol(): Protocol {
    return this.#transport.protocol;
  }

  get sessionId(): string {
    return this.#transport.sessionId?.toHex() ?? '';
  }

  /** Whether messages could be sent; stays true after closing. */
  get opened(): boolean {
    return this.#opened;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get sendQueueFull(): boolean {
    return this.#sending.size > (this.#events.memoryHigh ? HIGH_MEMORY_LIMIT : SOFT_SEND_LIMIT);
  }

  /** Memory in use, bytes: messages to send, to process and in process, and the incomplete one. */
  get memory(): number {
    return this.#kept;
  }

  /** Age of the oldest unsent or incomplete message, milliseconds. */
  get memoryAgeMs(): number {
    const now = this.#clock.monotonicMs();
    return Math.max(0, now - (this.#sending.since ?? now), now - (this.#heldSince ?? now));
  }

  whenWritable(): Promise<void> {
    if (this.#closed || !this.sendQueueFull) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Number of ignored messages that could not be decoded. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Facts of the close reason, for the log. */
  get closeFacts(): LogFields {
    return this.#closeFacts;
  }

  /** Whether the peer behaved like one that supports v1 only. Valid once closed. */
  get shouldRetryV1(): boolean {
    return this.#retryV1;
  }

  /** Whether a message may be processed now. As in Core, a peer that does not read our answers gets no further ones. */
  get canProcessMessage(): boolean {
    return !this.#closed && this.#receivedHead < this.#received.length && !this.sendQueueFull;
  }

  /** Starts sending and receiving. Must be called once. */
  start(): void {
    this.#enqueue(this.#transport.start(), null);
    if (this.#transport.writable) this.#open();
    this.#stream.attach({
      data: (bytes) => this.#guarded(() => this.#receive(bytes)),
      drain: () => this.#guarded(() => this.#flush()),
      closed: (error) =>
        error === null ? this.disconnect('closed by peer') : this.#close('socket error', { detail: error }),
    });
  }

  send<K extends MessageType>(type: K, value: ValueOf<K>): void {
    if (this.#opened && !this.#closed) this.sendPayload(type, encodeMessage(type, value));
  }

  sendPayload(type: string, payload: Uint8Array): void {
    if (!this.#opened || this.#closed) return;
    this.#events.message('sent', type);
    this.#events.sent(this, type, payload);
    this.#enqueue(this.#transport.encode(type, payload), type);
  }

  disconnect(reason: string, facts: LogFields = {}): void {
    this.#close(reason, facts);
  }

  /** Removes and returns the oldest queued message. The caller must call `finishMessage` afterwards. */
  dequeueMessage(): NetMessage | undefined {
    const message = this.#received[this.#receivedHead++];
    if (message === undefined) return undefined;
    this.#receivedSize -= message.wireSize + OVERHEAD;
    this.#inWork = message.wireSize;
    if (this.#receivedHead === this.#received.length || this.#receivedHead > 1024) {
      this.#received.splice(0, this.#receivedHead);
      this.#receivedHead = 0;
    }
    if (this.#paused && this.#receivedSize <= this.#receiveLimit && !this.#closed) {
      this.#paused = false;
      this.#stream.resume();
    }
    return message;
  }

  /** Marks the message in process as finished. */
  finishMessage(): void {
    this.#inWork = 0;
    this.#account();
  }

  get #receiveLimit(): number {
    return this.#events.memoryHigh ? HIGH_MEMORY_LIMIT : RECEIVE_LIMIT;
  }

  #account(): void {
    const kept = this.#closed ? 0 : this.#sending.size + this.#receivedSize + this.#inWork + this.#transport.held;
    const more = kept - this.#kept;
    this.#kept = kept;
    if (more !== 0) this.#events.memoryChanged(more);
  }

  /** Disconnects this peer after an internal error, so that the other peers are unaffected. */
  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#events.internalError(this, error);
      this.disconnect('internal error');
    }
  }

  #open(): void {
    this.#opened = true;
    this.#events.opened(this);
  }

  #receive(bytes: Uint8Array): void {
    if (this.#closed) return;
    this.traffic.received += bytes.length;
    this.traffic.lastReceivedAt = unixSeconds(this.#clock);
    this.lastReceivedMs = this.#clock.monotonicMs();
    this.#events.transferred(0, bytes.length);
    for (const event of this.#transport.receive(bytes)) {
      if (this.#closed) return;
      // Any incomplete message now held began with these bytes.
      if (event.kind === 'message' || event.kind === 'dropped') this.#heldSince = null;
      this.#on(event);
    }
    this.#heldSince = this.#transport.held === 0 ? null : (this.#heldSince ?? this.lastReceivedMs);
    if (this.#closed) return;
    if (!this.#paused && this.#receivedSize > this.#receiveLimit) {
      this.#paused = true;
      this.#stream.pause();
    }
    this.#account();
    if (this.canProcessMessage) this.#events.messageReady(this);
  }

  #on(event: TransportEvent): void {
    if (event.kind === 'send') this.#enqueue(event.bytes, null);
    else if (event.kind === 'writable') this.#open();
    else if (event.kind === 'message') {
      this.#events.message('received', event.message.type);
      countBytes(this.traffic.receivedByType, event.message.type, event.message.wireSize);
      this.#received.push(event.message);
      this.#receivedSize += event.message.wireSize + OVERHEAD;
    } else if (event.kind === 'dropped') {
      this.#events.message('received', '');
      countBytes(this.traffic.receivedByType, OTHER_MESSAGES, event.wireSize);
      this.#dropped++;
      this.#events.failed(this, event.reason, event.facts);
    } else {
      this.#events.failed(this, event.reason, event.facts);
      this.#close('transport error', { detail: event.reason });
    }
  }

  #enqueue(bytes: Uint8Array, type: string | null): void {
    const wasEmpty = this.#sending.isEmpty;
    this.#sending.push(bytes, type, this.#clock.monotonicMs());
    // A non-empty queue is flushed when the socket drains.
    if (wasEmpty) this.#flush();
    if (this.#sending.size > HARD_SEND_LIMIT) this.disconnect('send queue overflow');
    this.#account();
  }

  #flush(): void {
    if (this.#closed) return;
    let sent = 0;
    this.#sending.flush(
      (bytes) => this.#stream.write(bytes),
      (count, type) => {
        sent += count;
        if (type !== null) countBytes(this.traffic.sentByType, type, count);
      },
    );
    if (sent === 0) return;
    this.traffic.sent += sent;
    this.traffic.lastSentAt = unixSeconds(this.#clock);
    this.lastSentMs = this.#clock.monotonicMs();
    this.#events.transferred(sent, 0);
    this.#account();
    if (!this.sendQueueFull) this.#wake();
    if (this.canProcessMessage) this.#events.messageReady(this);
  }

  #close(reason: string, facts: LogFields): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#closeFacts = facts;
    // Before the peer can notice that it is disconnected.
    this.#events.closing(this, reason);
    const { sent } = this.traffic;
    this.#retryV1 = this.#transport instanceof V2Transport && this.#transport.shouldReconnectV1(sent);
    this.#stream.close();
    this.#wake();
    this.#sending.clear();
    this.#received.length = 0;
    this.#receivedHead = 0;
    this.#account();
    queueMicrotask(() => this.#events.closed(this, reason));
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** Maximum silence in one direction, milliseconds; pings are more frequent. */
const SILENCE_MS = 20 * 60_000;

/** The reason why a connection must be closed. */
interface Inactivity {
  readonly reason: string;
  readonly facts: LogFields;
}

/**
 * Core's InactivityCheck: returns why a connection must be closed at a monotonic time, or null. `timeoutMs`: time limit for
 * the first bytes in both directions and for the handshakes.
 */
export function inactivityOf(
  connection: Pick<Connection, 'startedMs' | 'lastSentMs' | 'lastReceivedMs' | 'protocol' | 'standing'>,
  nowMs: number,
  timeoutMs: number,
): Inactivity | null {
  const { startedMs, lastSentMs, lastReceivedMs, protocol, standing } = connection;
  if (nowMs - startedMs <= timeoutMs) return null;
  if (lastReceivedMs === null || lastSentMs === null) {
    const facts = { seconds: timeoutMs / 1000, hasReceived: lastReceivedMs !== null, hasSent: lastSentMs !== null };
    return { reason: 'no message in time', facts };
  }
  if (nowMs - lastSentMs > SILENCE_MS)
    return { reason: 'sending timeout', facts: { seconds: Math.floor((nowMs - lastSentMs) / 1000) } };
  if (nowMs - lastReceivedMs > SILENCE_MS)
    return { reason: 'receiving timeout', facts: { seconds: Math.floor((nowMs - lastReceivedMs) / 1000) } };
  if (standing.established) return null;
  return { reason: protocol === 'detecting' ? 'transport handshake timeout' : 'handshake timeout', facts: {} };
}
