import type { Socket, SocketHandler } from 'bun';
import { parseNetAddress } from '../address/address-text.ts';
import type { NetService } from '../address/net-address.ts';

export interface StreamHandlers {
  data(bytes: Uint8Array): void;
  /** More bytes can be written. */
  drain(): void;
  /** The peer or the system closed the stream, with an error code if there was an error. Not called after `close`. */
  closed(error: string | null): void;
}

/** A bidirectional byte stream, such as a TCP socket. */
export interface ByteStream {
  /** Both ends as the system reports them; null if unknown. */
  readonly local: NetService | null;
  readonly remote: NetService | null;
  /** Sets the handlers. Bytes received before are delivered first. */
  attach(handlers: StreamHandlers): void;
  /** Writes as many bytes as possible and returns their number. `drain` is called later if that was not all. */
  write(bytes: Uint8Array): number;
  /** Pauses and resumes reading; while paused, the sender is slowed down by flow control. */
  pause(): void;
  resume(): void;
  /** Returns bytes that were read too far; they are delivered to the next handlers. */
  unread(bytes: Uint8Array): void;
  close(): void;
}

/** A TCP socket. Until handlers are attached, received bytes are kept and the socket is paused. */
export class TcpStream implements ByteStream {
  readonly local: NetService | null;
  readonly remote: NetService | null;
  readonly #socket: Socket<TcpStream>;
  #handlers: StreamHandlers | null = null;
  readonly #early: Uint8Array[] = [];
  #ended: { readonly error: string | null } | null = null;

  constructor(socket: Socket<TcpStream>) {
    this.#socket = socket;
    this.local = serviceOf(socket.localAddress, socket.localPort);
    this.remote = serviceOf(socket.remoteAddress, socket.remotePort);
    socket.setNoDelay(true);
  }

  attach(handlers: StreamHandlers): void {
    this.#handlers = handlers;
    if (this.#ended === null) this.#socket.resume();
    for (const bytes of this.#early.splice(0)) handlers.data(bytes);
    if (this.#ended !== null) handlers.closed(this.#ended.error);
  }

  write(bytes: Uint8Array): number {
    return this.#ended === null ? Math.max(0, this.#socket.write(bytes)) : 0;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  unread(bytes: Uint8Array): void {
    this.#handlers = null;
    if (bytes.length > 0) this.#early.push(bytes);
    this.#socket.pause();
  }

  close(): void {
    if (this.#ended !== null) return;
    this.#ended = { error: null };
    this.#handlers = null;
    this.#socket.end();
  }

  /** Called by the socket's handlers only. */
  receive(bytes: Uint8Array): void {
    if (this.#handlers !== null) this.#handlers.data(bytes);
    else if (this.#ended === null) {
      this.#early.push(bytes);
      this.#socket.pause();
    }
  }

  drained(): void {
    this.#handlers?.drain();
  }

  end(error: string | null): void {
    if (this.#ended !== null) return;
    this.#ended = { error };
    this.#handlers?.closed(error);
  }
}

/** Returns the handlers for Bun's sockets. The stream is stored in the socket's `data`. */
export function tcpHandlers(opened: (stream: TcpStream) => void): SocketHandler<TcpStream> {
  return {
    binaryType: 'uint8array',
    open(socket) {
      socket.data = new TcpStream(socket);
      opened(socket.data);
    },
    data: (socket, bytes) => socket.data.receive(bytes),
    drain: (socket) => socket.data.drained(),
    // A failed connection attempt causes a close without an open.
    close: (socket, error) => socket.data?.end(error ? codeOf(error) : null),
    error: (socket, error) => socket.data?.end(codeOf(error)),
    connectError: () => {},
  };
}

export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return typeof code === 'string' ? code : error instanceof Error ? error.message : String(error);
}

/** Returns null for a socket whose peer has already disconnected. */
function serviceOf(text: string | undefined, port: number): NetService | null {
  // The system appends the interface to link-local addresses.
  const address = parseNetAddress(text?.split('%')[0] ?? '');
  return address === null ? null : { address, port };
}
