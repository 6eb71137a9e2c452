import type { Socket, SocketHandler } from 'bun';
import { parseAddress } from '../address/address-text.ts';
import type { NetService } from '../address/net-address.ts';

export interface StreamHandlers {
  data(bytes: Uint8Array): void;
  /** More can be written. */
  drain(): void;
  /** The other side or the system has ended it, with an error's code where there was one. Not after `close`. */
  closed(error: string | null): void;
}

/** A connection as bytes, whoever made it. */
export interface ByteStream {
  /** The ends as the system sees them; null where it does not say. */
  readonly local: NetService | null;
  readonly remote: NetService | null;
  /** Who is told from now on; what came before is told first. */
  attach(handlers: StreamHandlers): void;
  /** Writes what fits; how many bytes that were. `drain` follows when it was not all. */
  write(bytes: Uint8Array): number;
  /** Stops and goes on to read; meanwhile the sender has to wait. */
  pause(): void;
  resume(): void;
  /** Gives bytes back that were read too far, to be told to the next who attaches. */
  unread(bytes: Uint8Array): void;
  close(): void;
}

/** A TCP socket. What arrives before anybody attaches waits, and the socket is paused so that it does not get much. */
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

  /** For the socket's handlers alone. */
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

/** What Bun calls; the stream is the socket's `data`. */
export function tcpHandlers(opened: (stream: TcpStream) => void): SocketHandler<TcpStream> {
  return {
    binaryType: 'uint8array',
    open(socket) {
      socket.data = new TcpStream(socket);
      opened(socket.data);
    },
    data: (socket, bytes) => socket.data.receive(bytes),
    drain: (socket) => socket.data.drained(),
    // After a failed attempt there is a close without an open.
    close: (socket, error) => socket.data?.end(error ? codeOf(error) : null),
    error: (socket, error) => socket.data?.end(codeOf(error)),
    connectError: () => {},
  };
}

export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return typeof code === 'string' ? code : error instanceof Error ? error.message : String(error);
}

/** A socket whose other end is gone already has no addresses. */
function serviceOf(text: string | undefined, port: number): NetService | null {
  // The system writes the interface behind link-local addresses.
  const address = parseAddress(text?.split('%')[0] ?? '');
  return address === null ? null : { address, port };
}
