import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

const VERSION = 5;
const WITH_PASSWORD = 2;
const IPV4 = 1;
const NAME = 3;
const SUCCEEDED = 0;
const REFUSED = 5;

/** Returns the destination for a request of `address:port`, given how many came before it; null refuses it. */
export type Route = (target: string, count: number) => string | null;

/** A SOCKS5 proxy behind which addresses of the whole world are nodes on loopback. */
export class SocksProxy implements Disposable {
  /** The requested targets, in order. */
  readonly targets: string[] = [];
  /** Names the `127.0.0.1:port` behind a target; null refuses it. */
  route: Route;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(route: Route) {
    this.route = route;
    this.#server = createServer((socket) => {
      this.#own(socket);
      this.#serve(socket).catch(() => socket.destroy());
    });
  }

  static async listen(route: Route): Promise<SocksProxy> {
    const proxy = new SocksProxy(route);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  /** `127.0.0.1:port` */
  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  [Symbol.dispose](): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  async #serve(client: Socket): Promise<void> {
    const take = reader(client);
    const [, methods] = await take(2);
    await take(methods!);
    client.write(Uint8Array.of(VERSION, WITH_PASSWORD));
    const [, nameLength] = await take(2);
    await take(nameLength!);
    const [passwordLength] = await take(1);
    await take(passwordLength!);
    client.write(Uint8Array.of(1, SUCCEEDED));
    const [, , , kind, length] = await take(5);
    if (kind !== NAME) throw new Error('an address that is not written as a name');
    const host = new TextDecoder().decode(await take(length!));
    const [high, low] = await take(2);
    const target = `${host}:${high! * 256 + low!}`;
    const to = this.route(target, this.targets.length);
    this.targets.push(target);
    if (to === null) client.end(reply(REFUSED));
    else this.#join(client, to);
  }

  #join(client: Socket, to: string): void {
    const [host, port] = to.split(':');
    const other = connect(Number(port), host!);
    this.#own(other);
    other.once('error', () => client.end(reply(REFUSED)));
    other.once('connect', () => {
      client.write(reply(SUCCEEDED));
      client.pipe(other);
      other.pipe(client);
    });
    client.once('close', () => other.destroy());
    other.once('close', () => client.destroy());
  }

  #own(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
  }
}

function reply(code: number): Uint8Array {
  return Uint8Array.of(VERSION, code, 0, IPV4, 0, 0, 0, 0, 0, 0);
}

/** Returns a function that reads the given number of bytes, and leaves the bytes behind them to others. */
function reader(socket: Socket): (count: number) => Promise<Uint8Array> {
  return async (count) => {
    for (;;) {
      const bytes: Uint8Array | null = count === 0 ? new Uint8Array(0) : socket.read(count);
      if (bytes !== null) return bytes;
      await new Promise<void>((resolve, reject) => {
        const done = (settle: () => void) => () => {
          socket.off('readable', readable);
          socket.off('close', closed);
          settle();
        };
        const readable = done(resolve);
        const closed = done(() => reject(new Error('closed')));
        socket.on('readable', readable);
        socket.on('close', closed);
      });
    }
  };
}
