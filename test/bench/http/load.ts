import type { Socket } from 'bun';

/** One kind of request as bytes on the wire. If there are several, they alternate. */
export interface Wire {
  readonly texts: readonly Buffer[];
  readonly status: number;
  /** Whether each request opens a connection, which closes after the reply. */
  readonly connectionEach: boolean;
  /** Maximum number of requests of one window. */
  readonly atMost: number;
}

/** The measurements of one window of load. */
export interface Window {
  readonly requests: number;
  readonly seconds: number;
  /** Milliseconds of each request, unsorted. */
  readonly latencies: readonly number[];
}

/** Replies arrive one by one on a connection, so these bytes at the end of the received data are the last chunk. */
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n');
const CHUNKED = /\r\ntransfer-encoding: *chunked/i;
const END_OF_HEADER = Buffer.from('\r\n\r\n');
const NOTHING = Buffer.alloc(0);
const LENGTH = /\r\ncontent-length: *(\d+)/i;

/** Keeps `connections` requests in flight for `ms` milliseconds. Rejects for a reply with another status. */
export async function runLoad(port: number, wire: Wire, connections: number, ms: number): Promise<Window> {
  const window = new LoadWindow(port, wire, ms);
  await Promise.all(Array.from({ length: connections }, () => window.client()));
  return { requests: window.latencies.length, seconds: window.seconds, latencies: window.latencies };
}

class LoadWindow {
  readonly latencies: number[] = [];
  readonly #port: number;
  readonly #wire: Wire;
  readonly #from = performance.now();
  readonly #until: number;
  #sent = 0;
  #last = 0;

  constructor(port: number, wire: Wire, ms: number) {
    this.#port = port;
    this.#wire = wire;
    this.#until = this.#from + ms;
  }

  get seconds(): number {
    return (this.#last - this.#from) / 1000;
  }

  /** One client: sends the next request when the reply to the last one is complete. */
  async client(): Promise<void> {
    do await this.#connection();
    while (this.#wire.connectionEach && this.#mayStart());
  }

  #mayStart(): boolean {
    return performance.now() < this.#until && this.#sent < this.#wire.atMost;
  }

  #connection(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { texts, status, connectionEach } = this.#wire;
    const expected = Buffer.from(`HTTP/1.1 ${status} `);
    let received: Buffer = NOTHING;
    /** Bytes of the body that are missing; null until the header is there, and for a reply in chunks. */
    let left: number | null = null;
    let isChunked = false;
    let sentAt = performance.now();
    let done = false;
    const end = (socket: Socket, error?: Error) => {
      done = true;
      socket.terminate();
      if (error) reject(error);
      else resolve();
    };
    const send = (socket: Socket) => {
      if (!connectionEach) sentAt = performance.now();
      const text = texts[this.#sent++ % texts.length]!;
      if (socket.write(text) !== text.length) end(socket, new Error('a request did not fit into the socket'));
    };
    Bun.connect({
      hostname: '127.0.0.1',
      port: this.#port,
      socket: {
        open: send,
        data: (socket, bytes) => {
          if (done) return;
          if (left !== null) left -= bytes.length;
          else {
            // Only the end of a reply in chunks is kept, since joining a long one takes longer than the request.
            const before = isChunked ? received.subarray(-LAST_CHUNK.length) : received;
            received = before.length === 0 ? bytes : Buffer.concat([before, bytes]);
            if (!isChunked) {
              const header = received.indexOf(END_OF_HEADER);
              if (header < 0) return;
              if (!received.subarray(0, expected.length).equals(expected))
                return end(socket, new Error(`not the status ${status}: ${received.subarray(0, 400)}`));
              const text = received.toString('latin1', 0, header);
              isChunked = CHUNKED.test(text);
              if (!isChunked) left = header + 4 + Number(LENGTH.exec(text)?.[1] ?? 0) - received.length;
            }
          }
          if (left === null ? !received.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK) : left > 0) return;
          received = NOTHING;
          left = null;
          isChunked = false;
          this.#last = performance.now();
          this.latencies.push(this.#last - sentAt);
          if (connectionEach || !this.#mayStart()) end(socket);
          else send(socket);
        },
        close: (socket) => {
          if (!done) end(socket, new Error('the server closed a connection before its reply was complete'));
        },
      },
    }).catch(reject);
    return promise;
  }
}
