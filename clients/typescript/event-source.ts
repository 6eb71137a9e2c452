// The events of a node behind a cursor, in batches: by pages (long poll) or over a WebSocket. Both end with an error that
// says whether to begin again.
import type { Schemas } from './api.ts';
import { type ObverseClient, ObverseError } from './client.ts';

export type LogEvent = Exclude<Schemas['EventsPage']['items'][number], { type: 'gap' }>;
export type Gap = Schemas['EventGap'];

/** Events in their order, or a gap: missing events. `cursor` is the position behind them. */
export interface EventBatch {
  readonly events: readonly LogEvent[];
  readonly gap: Gap | null;
  readonly cursor: string;
}

export interface EventRequest {
  /** Cursor behind which the events begin. */
  readonly after: string;
  readonly types: readonly LogEvent['type'][];
  readonly signal: AbortSignal;
}

const PAGE = 500;
const WAIT_SECONDS = 20;
/** A reply to a request that waits is late after this time as well, milliseconds. */
const WAIT_GRACE_MS = 15_000;
const PING_MS = 20_000;
/** Messages that wait for the consumer. Beyond that the connection is closed, and the events are read again. */
const MAX_QUEUED = 5000;
/** Close codes after which the same key is refused again: it was revoked, or has lost a right. */
const FINAL_CLOSE_CODES: ReadonlySet<number> = new Set([1003, 1007, 1009, 4001, 4003, 4400]);

/** Reads pages of `GET /api/events`; each request waits for an event. */
export async function* pagesOfEvents(
  client: ObverseClient,
  { after, types, signal }: EventRequest,
): AsyncGenerator<EventBatch> {
  for (let cursor = after; ; ) {
    const page = await client.call(
      'getEvents',
      { after: cursor, types: types.join(','), limit: PAGE, wait: WAIT_SECONDS },
      { signal, timeoutMs: WAIT_SECONDS * 1000 + WAIT_GRACE_MS, retryForMs: 0 },
    );
    cursor = page.lastCursor;
    const before: Message[] = page.gap ? [{ type: 'gap', data: page.gap }] : [];
    const batches = batchesOf([...before, ...page.items]);
    const last = batches.pop() ?? { events: [], gap: null };
    yield* batches;
    // Behind its last item as well, where no later event has one of the types.
    yield { ...last, cursor };
  }
}

interface Message {
  readonly type: string;
  readonly id?: unknown;
  readonly data: { readonly cursor?: string; readonly code?: string; readonly message?: string };
}

/** Reads the same events over one WebSocket connection. */
export async function* socketEvents(client: ObverseClient, request: EventRequest): AsyncGenerator<EventBatch> {
  const { signal } = request;
  signal.throwIfAborted();
  const queue = new EventQueue(client, request);
  const end = () => queue.fail(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  try {
    for (;;) yield* await queue.next();
  } finally {
    signal.removeEventListener('abort', end);
    queue.close();
  }
}

/** One connection, and the messages that the consumer has not processed yet. */
class EventQueue {
  readonly #client: ObverseClient;
  readonly #socket: WebSocket;
  readonly #request: EventRequest;
  readonly #pings: ReturnType<typeof setInterval>;
  #queued: Message[] = [];
  #opened = false;
  #begun = false;
  #heard = true;
  #ended = false;
  #error: unknown = null;
  #wake: () => void = () => {};

  constructor(client: ObverseClient, request: EventRequest) {
    this.#client = client;
    this.#request = request;
    // Bun and Node accept headers, which the type of browsers lacks.
    const options = { headers: client.headers } as unknown as string[];
    this.#socket = new WebSocket(`${client.url.replace(/^http/, 'ws')}/ws`, options);
    this.#socket.onopen = () => this.#subscribe();
    this.#socket.onmessage = ({ data }) => this.#receive(String(data));
    this.#socket.onclose = ({ code, reason }) => this.#closed(code, reason);
    this.#pings = setInterval(() => this.#ping(), PING_MS);
  }

  /** Resolves with the messages that have arrived. Rejects when the connection has ended and all were returned. */
  async next(): Promise<EventBatch[]> {
    while (this.#queued.length === 0) {
      if (this.#ended) throw await this.#reason();
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    const messages = this.#queued;
    this.#queued = [];
    return batchesOf(messages);
  }

  fail(error: unknown): void {
    if (!this.#ended) this.#error = error;
    this.#ended = true;
    this.#socket.close();
    this.#wake();
  }

  close(): void {
    clearInterval(this.#pings);
    this.#ended = true;
    this.#socket.close();
  }

  #subscribe(): void {
    this.#opened = true;
    const { types, after } = this.#request;
    // Begins behind the cursor, and leaves out the default types.
    this.#send({ type: 'subscribe', id: 'begin', data: { events: types, replace: true, after } });
  }

  #receive(text: string): void {
    this.#heard = true;
    const message = JSON.parse(text) as Message;
    const { type, id, data } = message;
    if (type === 'error') {
      const { code = 'error', message: reason } = data;
      this.fail(new ObverseError(`/ws: ${code}: ${reason}`, { code }));
    }
    // Messages that follow a failure do not follow the cursor.
    if (this.#ended) return;
    if (id === 'begin') this.#begun = true;
    // Messages before the reply do not follow the cursor.
    if (id !== undefined || !this.#begun || data.cursor === undefined) return;
    if (this.#queued.push(message) > MAX_QUEUED)
      this.fail(new ObverseError('/ws: the consumer is too slow', { code: 'slow_consumer', retryable: true }));
    this.#wake();
  }

  /** A connection whose other end is gone reports nothing; a reply to a ping shows that it is alive. */
  #ping(): void {
    if (!this.#heard) this.fail(new ObverseError('/ws: no reply', { code: 'no_reply', retryable: true }));
    this.#heard = false;
    if (this.#opened) this.#send({ type: 'ping', id: 'ping', data: {} });
  }

  #closed(code: number, reason: string): void {
    const isFinal = FINAL_CLOSE_CODES.has(code);
    this.fail(new ObverseError(`/ws: closed with ${code} ${reason}`, { code: `closed_${code}`, retryable: !isFinal }));
  }

  /** A refused upgrade has no status here; a request with the same key and cursor is refused for the same reason. */
  async #reason(): Promise<unknown> {
    const { after, signal } = this.#request;
    if (!this.#opened && !signal.aborted)
      await this.#client.call('getEvents', { after, limit: 1 }, { signal, retryForMs: 0 });
    return this.#error;
  }

  #send(message: object): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }
}

/** Joins consecutive events to one batch; a gap is a batch of its own. */
function batchesOf(messages: readonly Message[]): EventBatch[] {
  const batches: EventBatch[] = [];
  let events: LogEvent[] = [];
  const flush = () => {
    const last = events.at(-1);
    if (last) batches.push({ events, gap: null, cursor: last.data.cursor });
    events = [];
  };
  for (const message of messages) {
    if (message.type !== 'gap') events.push(message as LogEvent);
    else {
      flush();
      const gap = message.data as Gap;
      batches.push({ events: [], gap, cursor: gap.cursor });
    }
  }
  flush();
  return batches;
}
