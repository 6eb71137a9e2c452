import { connect, type Socket } from 'node:net';

const OP_TEXT = 1;
const OP_BINARY = 2;
const OP_CLOSE = 8;

/** A WebSocket client that can stop reading, and send what no proper client would. */
export class RawWebSocket {
  /** Text messages, in order. */
  readonly texts: string[] = [];
  /** Code and reason of the close frame. */
  readonly closed: Promise<{ code: number; reason: string } | null>;
  /** Id of the request that opened it. */
  readonly requestId: string;
  readonly #socket: Socket;
  #buffer = Buffer.alloc(0);
  #fragments: Buffer[] = [];
  #close = Promise.withResolvers<{ code: number; reason: string } | null>();
  #changed = Promise.withResolvers<void>();

  private constructor(socket: Socket, head: string, rest: Buffer) {
    this.requestId = /^x-request-id: (.*)\r$/im.exec(head)?.[1] ?? '';
    this.#socket = socket;
    this.closed = this.#close.promise;
    socket.on('data', (data) => this.#take(data as Buffer));
    socket.on('close', () => this.#end(null));
    socket.on('error', () => this.#end(null));
    this.#take(rest);
  }

  /** `key` null sends no credentials but those in the query of the URL. */
  static open(url: string, key: string | null): Promise<RawWebSocket> {
    const { hostname, port, search } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `GET /ws${search} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Sec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}\r\nSec-WebSocket-Version: 13\r\n` +
        `${key === null ? '' : `Authorization: Bearer ${key}\r\n`}\r\n`,
    );
    return new Promise((resolve, reject) => {
      let head = Buffer.alloc(0);
      const onData = (data: Buffer | string) => {
        head = Buffer.concat([head, data as Buffer]);
        const end = head.indexOf('\r\n\r\n');
        if (end < 0) return;
        socket.off('data', onData);
        if (!head.toString('latin1').startsWith('HTTP/1.1 101')) reject(new Error(head.toString('latin1')));
        else resolve(new RawWebSocket(socket, head.subarray(0, end + 2).toString('latin1'), head.subarray(end + 4)));
      };
      socket.on('data', onData);
      socket.on('error', reject);
    });
  }

  /** Nothing more is read until `resume`. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  send(message: unknown): void {
    this.sendBytes(OP_TEXT, Buffer.from(typeof message === 'string' ? message : JSON.stringify(message)));
  }

  sendBinary(bytes: Uint8Array): void {
    this.sendBytes(OP_BINARY, Buffer.from(bytes));
  }

  sendBytes(opcode: number, payload: Buffer): void {
    const { length } = payload;
    const size = length < 126 ? 0 : length < 65_536 ? 2 : 8;
    const head = Buffer.alloc(2 + size + 4);
    head[0] = 0x80 | opcode;
    head[1] = 0x80 | (size === 0 ? length : size === 2 ? 126 : 127);
    if (size === 2) head.writeUInt16BE(length, 2);
    if (size === 8) head.writeBigUInt64BE(BigInt(length), 2);
    // A mask of zeros leaves the payload as it is.
    this.#socket.write(Buffer.concat([head, payload]));
  }

  /** Resolves when there is something new; rejects after a while. */
  async until<T>(what: string, find: () => T | null | undefined | false, timeoutMs = 30_000): Promise<T> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error(`${timeoutMs} ms passed without ${what}`)), timeoutMs);
    try {
      for (;;) {
        const found = find();
        if (found) return found;
        await Promise.race([this.#changed.promise, late.promise]);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #take(data: Buffer): void {
    this.#buffer = Buffer.concat([this.#buffer, data]);
    for (;;) {
      const buffer = this.#buffer;
      if (buffer.length < 2) break;
      const short = buffer[1]! & 0x7f;
      const size = short < 126 ? 0 : short === 126 ? 2 : 8;
      if (buffer.length < 2 + size) break;
      const length = size === 0 ? short : size === 2 ? buffer.readUInt16BE(2) : Number(buffer.readBigUInt64BE(2));
      if (buffer.length < 2 + size + length) break;
      this.#frame(buffer[0]!, buffer.subarray(2 + size, 2 + size + length));
      this.#buffer = buffer.subarray(2 + size + length);
    }
    this.#notify();
  }

  #frame(first: number, payload: Buffer): void {
    const opcode = first & 0x0f;
    if (opcode === OP_CLOSE)
      this.#end({ code: payload.length >= 2 ? payload.readUInt16BE(0) : 1005, reason: payload.subarray(2).toString() });
    if (opcode > OP_BINARY) return;
    this.#fragments.push(Buffer.from(payload));
    if (!(first & 0x80)) return;
    this.texts.push(Buffer.concat(this.#fragments).toString());
    this.#fragments = [];
  }

  #end(how: { code: number; reason: string } | null): void {
    this.#close.resolve(how);
    this.#notify();
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
