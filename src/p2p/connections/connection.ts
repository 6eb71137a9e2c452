import { type Clock, unixSeconds } from '../../util/clock.ts';
import type { NetService } from '../address/net-address.ts';
import { type NetworkClass, networkClassOf } from '../address/net-group.ts';
import { encodeMessage, type MessageType, type ValueOf } from '../messages/messages.ts';
import type { NetMessage, Protocol, Transport, TransportEvent } from '../transport/transport.ts';
import { V2Transport } from '../transport/v2-transport.ts';
import type { ByteStream } from './byte-stream.ts';
import { type ConnectionType, newStanding, type PeerLink, type Permission } from './peer-link.ts';
import { HARD_SEND_LIMIT, SendQueue, SOFT_SEND_LIMIT } from './send-queue.ts';
import { countBytes, newTraffic, OTHER_MESSAGES } from './traffic.ts';

/** Over so many bytes of messages that wait for the logic, the peer is not read. Core's default for -maxreceivebuffer. */
const RECEIVE_LIMIT = 5_000_000;
/** What a waiting message takes beside its bytes. */
const OVERHEAD = 128;
/** Instead of the limits for each way, where much is kept for all peers together. */
const CROWDED_LIMIT = 250_000;

export type Direction = 'sent' | 'received';

/** What a connection tells whoever holds it. Never called from within a call of one of its own methods but `start`. */
export interface ConnectionEvents {
  /** Messages can be sent. At most once. */
  opened(connection: Connection): void;
  /** A message waits, or may be taken again. May be called when that is known. */
  ready(connection: Connection): void;
  /** It is over. Once, in a microtask of its own. */
  closed(connection: Connection, reason: string): void;
  transferred(sent: number, received: number): void;
  /** A message was queued, or has come; what could not be read has no type. */
  message(direction: Direction, type: string): void;
  /** More or less memory is kept for the peer. May disconnect it, or another. */
  kept(bytes: number): void;
  /** Much is kept for all of them. */
  readonly crowded: boolean;
  /** It cannot go on because of a mistake of ours. */
  broken(connection: Connection, error: unknown): void;
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
  /** It was discouraged when it came. */
  readonly preferEvict?: boolean;
}

/** A stream of bytes with a transport on it. */
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
  /** On the monotonic clock, in milliseconds; null for never. */
  readonly startedMs: number;
  lastSentMs: number | null = null;
  lastReceivedMs: number | null = null;
  readonly #transport: Transport;
  readonly #stream: ByteStream;
  readonly #clock: Clock;
  readonly #events: ConnectionEvents;
  readonly #sending = new SendQueue();
  readonly #received: NetMessage[] = [];
  /** Called when there is room to send again. At most one message of a peer is answered at a time. */
  readonly #waiting: (() => void)[] = [];
  #receivedHead = 0;
  #receivedSize = 0;
  /** Of the message that was taken and is not finished. */
  #inWork = 0;
  #kept = 0;
  /** Since when an incomplete message is held; null for none. */
  #heldSince: number | null = null;
  #paused = false;
  #opened = false;
  #closed = false;
  #dropped = 0;
  #retryV1 = false;
  #closeDetail: string | null = null;

  constructor(options: ConnectionOptions, events: ConnectionEvents) {
    const { id, type, service, name, permissions, transport, stream, clock, preferEvict = false } = options;
    this.id = id;
    this.type = type;
    this.service = service;
    this.name = name;
    this.permissions = permissions;
    this.preferEvict = preferEvict;
    this.localService = stream.local;
    this.network = networkClassOf(service.address);
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

  /** Whether messages can be sent; stays so when it is closed. */
  get opened(): boolean {
    return this.#opened;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get sendQueueFull(): boolean {
    return this.#sending.size > (this.#events.crowded ? CROWDED_LIMIT : SOFT_SEND_LIMIT);
  }

  /** Bytes of memory that it takes: messages to be sent, to be handled, in work, and what has come of the next one. */
  get kept(): number {
    return this.#kept;
  }

  /** How long the oldest of what waits for the peer, to be taken or to be completed, has waited. */
  get keptMs(): number {
    const now = this.#clock.monotonicMs();
    return Math.max(0, now - (this.#sending.since ?? now), now - (this.#heldSince ?? now));
  }

  whenWritable(): Promise<void> {
    if (this.#closed || !this.sendQueueFull) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Messages without a meaning that were passed over. */
  get dropped(): number {
    return this.#dropped;
  }

  /** What is to be known of the end beside the reason; for the log. */
  get closeDetail(): string | null {
    return this.#closeDetail;
  }

  /** Whether the peer was silent as one is that speaks v1 only. Known once it is closed. */
  get shouldRetryV1(): boolean {
    return this.#retryV1;
  }

  /** Whether a message may be handed over. As in Core, a peer that does not take our answers gets no more of them. */
  get hasTurn(): boolean {
    return !this.#closed && this.#receivedHead < this.#received.length && !this.sendQueueFull;
  }

  /** Begins to send and to receive. Once. */
  start(): void {
    this.#enqueue(this.#transport.start(), null);
    if (this.#transport.writable) this.#open();
    this.#stream.attach({
      data: (bytes) => this.#guarded(() => this.#receive(bytes)),
      drain: () => this.#guarded(() => this.#flush()),
      closed: (error) => (error === null ? this.disconnect('closed by peer') : this.#close('socket error', error)),
    });
  }

  send<K extends MessageType>(type: K, value: ValueOf<K>): void {
    if (this.#opened && !this.#closed) this.sendPayload(type, encodeMessage(type, value));
  }

  sendPayload(type: string, payload: Uint8Array): void {
    if (!this.#opened || this.#closed) return;
    this.#events.message('sent', type);
    this.#enqueue(this.#transport.encode(type, payload), type);
  }

  disconnect(reason: string): void {
    this.#close(reason, null);
  }

  /** The oldest message that waits. `finished` is to follow. */
  take(): NetMessage | undefined {
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

  /** The message that was taken has been handled. */
  finished(): void {
    this.#inWork = 0;
    this.#account();
  }

  get #receiveLimit(): number {
    return this.#events.crowded ? CROWDED_LIMIT : RECEIVE_LIMIT;
  }

  #account(): void {
    const kept = this.#closed ? 0 : this.#sending.size + this.#receivedSize + this.#inWork + this.#transport.held;
    const more = kept - this.#kept;
    this.#kept = kept;
    if (more !== 0) this.#events.kept(more);
  }

  /** A mistake of ours that one peer brings about is no reason to lose the others. */
  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#events.broken(this, error);
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
      // What is held now began with these bytes.
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
    if (this.hasTurn) this.#events.ready(this);
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
    } else this.#close('transport error', event.reason);
  }

  #enqueue(bytes: Uint8Array, type: string | null): void {
    const wasEmpty = this.#sending.isEmpty;
    this.#sending.push(bytes, type, this.#clock.monotonicMs());
    // What is queued behind something else is written when the socket drains.
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
    if (this.hasTurn) this.#events.ready(this);
  }

  #close(reason: string, detail: string | null): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#closeDetail = detail;
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
