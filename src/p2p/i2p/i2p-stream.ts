import type { NetService } from '../address/net-address.ts';
import type { ByteStream, StreamHandlers } from '../connections/byte-stream.ts';

/** A stream through the router, whose ends are addresses on I2P. */
export class I2pStream implements ByteStream {
  readonly local: NetService;
  readonly remote: NetService;
  /** Called when either end closes the stream. */
  onEnd: () => void = () => {};
  readonly #stream: ByteStream;

  constructor(stream: ByteStream, local: NetService, remote: NetService) {
    this.#stream = stream;
    this.local = local;
    this.remote = remote;
  }

  attach(handlers: StreamHandlers): void {
    this.#stream.attach({
      data: (bytes) => handlers.data(bytes),
      drain: () => handlers.drain(),
      closed: (error) => {
        this.onEnd();
        handlers.closed(error);
      },
    });
  }

  write(bytes: Uint8Array): number {
    return this.#stream.write(bytes);
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  unread(bytes: Uint8Array): void {
    this.#stream.unread(bytes);
  }

  close(): void {
    this.onEnd();
    this.#stream.close();
  }
}
