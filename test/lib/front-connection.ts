import { connect, type Socket } from 'node:net';
import { RawWebSocket } from './raw-websocket.ts';

/** A reply with its whole body. */
interface FrontReply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

const CONNECTIONS = 64;

/** One connection that is kept open, so that one front answers all of its requests. Requests are sent one by one. */
export class FrontConnection {
  /** Names the front: the beginning of its request ids. */
  front = '';
  readonly #socket: Socket;
  readonly #host: string;
  #received = Buffer.alloc(0);
  #changed = Promise.withResolvers<void>();

  private constructor(url: string) {
    const { hostname, port, host } = new URL(url);
    this.#host = host;
    this.#socket = connect(Number(port), hostname);
    this.#socket.on('data', (data) => {
      this.#received = Buffer.concat([this.#received, data as Buffer]);
      this.#notify();
    });
    this.#socket.on('close', () => this.#notify());
    this.#socket.on('error', () => this.#notify());
  }

  static async open(url: string): Promise<FrontConnection> {
    const connection = new FrontConnection(url);
    const { headers } = await connection.request('GET', '/healthz');
    connection.front = frontOf(headers.get('x-request-id')!);
    return connection;
  }

  /** Opens one connection to each of `count` fronts. */
  static async toEach(url: string, count: number): Promise<FrontConnection[]> {
    const byFront = new Map<string, FrontConnection>();
    for (let i = 0; i < CONNECTIONS && byFront.size < count; i++) {
      const connection = await FrontConnection.open(url);
      if (byFront.has(connection.front)) connection.close();
      else byFront.set(connection.front, connection);
    }
    if (byFront.size < count) throw new Error(`${CONNECTIONS} connections have reached ${byFront.size} fronts`);
    return [...byFront.values()];
  }

  async request(
    method: string,
    path: string,
    { key, body, headers = {} }: { key?: string; body?: string; headers?: Readonly<Record<string, string>> } = {},
  ): Promise<FrontReply> {
    const lines = [`${method} ${path} HTTP/1.1`, `host: ${this.#host}`];
    if (key !== undefined) lines.push(`authorization: Bearer ${key}`);
    for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
    if (body !== undefined) lines.push('content-type: application/json', `content-length: ${Buffer.byteLength(body)}`);
    this.#socket.write(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`);
    const end = await this.#until(() => this.#received.indexOf('\r\n\r\n'));
    const [statusLine = '', ...rest] = this.#received.subarray(0, end).toString('latin1').split('\r\n');
    const found = new Headers(rest.map((line) => line.split(': ', 2) as [string, string]));
    const length = Number(found.get('content-length') ?? 0);
    await this.#until(() => (this.#received.length >= end + 4 + length ? 1 : -1));
    const text = this.#received.subarray(end + 4, end + 4 + length).toString();
    this.#received = this.#received.subarray(end + 4 + length);
    return { status: Number(statusLine.split(' ')[1]), headers: found, body: text };
  }

  async json<T>(method: string, path: string, key: string, body?: unknown): Promise<T> {
    const reply = await this.request(method, path, { key, ...(body !== undefined && { body: JSON.stringify(body) }) });
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.body}`);
    return JSON.parse(reply.body) as T;
  }

  /** Returns the result of a JSON-RPC call. */
  async rpc<T>(key: string, method: string, params: unknown = [], wallet?: string): Promise<T> {
    const body = { jsonrpc: '2.0', id: 1, method, params };
    const path = wallet === undefined ? '/' : `/wallet/${wallet}`;
    const { result, error } = await this.json<{ result: T; error?: unknown }>('POST', path, key, body);
    if (error) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  }

  close(): void {
    this.#socket.destroy();
  }

  async #until(find: () => number): Promise<number> {
    for (;;) {
      const found = find();
      if (found >= 0) return found;
      if (this.#socket.destroyed) throw new Error('the connection was closed');
      await this.#changed.promise;
    }
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

/** Opens one WebSocket on each of `count` fronts, in the order of `fronts`. */
export async function socketsOn(fronts: readonly FrontConnection[], url: string, key: string): Promise<RawWebSocket[]> {
  const byFront = new Map<string, RawWebSocket>();
  for (let i = 0; i < CONNECTIONS && fronts.some(({ front }) => !byFront.has(front)); i++) {
    const socket = await RawWebSocket.open(url, key);
    const front = frontOf(socket.requestId);
    if (byFront.has(front)) socket.destroy();
    else byFront.set(front, socket);
  }
  return fronts.map(({ front }) => byFront.get(front)!);
}

export function frontOf(requestId: string): string {
  return requestId.split('-', 1)[0]!;
}
