import { type ByteStream, type TcpStream, tcpHandlers } from '../../src/p2p/connections/byte-stream.ts';
import type { NetMessage, Transport } from '../../src/p2p/transport/transport.ts';
import { V1Transport } from '../../src/p2p/transport/v1-transport.ts';

/** Regtest's. */
export const MAGIC = Uint8Array.of(0xfa, 0xbf, 0xb5, 0xda);

/** The other end of a connection: speaks the transport and knows nothing else. */
export class RawPeer {
  readonly messages: NetMessage[] = [];
  closed = false;
  received = 0;
  readonly stream: ByteStream;
  readonly transport: Transport;
  /** Called when something has come, was written, or it is over. */
  changed: () => void = () => {};
  /** Whether a message is kept in `messages`. */
  keeps: (message: NetMessage) => boolean = () => true;
  readonly #queue: Uint8Array[] = [];
  #waiting = 0;

  constructor(stream: ByteStream, transport: Transport) {
    this.stream = stream;
    this.transport = transport;
    this.raw(transport.start());
    stream.attach({
      data: (bytes) => {
        this.received += bytes.length;
        for (const event of transport.receive(bytes)) {
          if (event.kind === 'send') this.raw(event.bytes);
          if (event.kind === 'message' && this.keeps(event.message)) this.messages.push(event.message);
        }
        this.changed();
      },
      drain: () => {
        this.#flush();
        this.changed();
      },
      closed: () => {
        this.closed = true;
        this.changed();
      },
    });
  }

  static async dial(port: number, transport: Transport = new V1Transport(MAGIC), host = '127.0.0.1'): Promise<RawPeer> {
    const { promise, resolve } = Promise.withResolvers<TcpStream>();
    await Bun.connect<TcpStream>({ hostname: host, port, socket: tcpHandlers(resolve) });
    return new RawPeer(await promise, transport);
  }

  /** Bytes that are queued for writing. */
  get waiting(): number {
    return this.#waiting;
  }

  get types(): string[] {
    return this.messages.map(({ type }) => type);
  }

  send(type: string, payload: Uint8Array = new Uint8Array(0)): void {
    this.raw(this.transport.encode(type, payload));
  }

  raw(bytes: Uint8Array): void {
    if (bytes.length > 0) this.#queue.push(bytes);
    this.#waiting += bytes.length;
    if (this.#queue.length === 1) this.#flush();
  }

  close(): void {
    this.stream.close();
  }

  #flush(): void {
    while (this.#queue.length > 0) {
      const taken = this.stream.write(this.#queue[0]!);
      this.#waiting -= taken;
      if (taken < this.#queue[0]!.length) {
        this.#queue[0] = this.#queue[0]!.subarray(taken);
        return;
      }
      this.#queue.shift();
    }
  }
}
