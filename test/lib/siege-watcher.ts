import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setPriority } from 'node:os';
import { TestPeer } from './test-peer.ts';

/** Whom to watch. */
interface WatchOrder {
  readonly pid: number;
  /** `/healthz` of the node. */
  readonly health: string;
  /** Address at which the node accepts peers. */
  readonly peers: string;
}

/** Milliseconds, and bytes. */
export interface Watched {
  readonly memory: number;
  readonly health: readonly number[];
  readonly pongs: readonly number[];
}

export type ToWatcher =
  | ({ readonly type: 'open' } & WatchOrder)
  | { readonly type: 'begin' }
  | { readonly type: 'end' };
export type FromWatcher = { readonly type: 'ready' } | ({ readonly type: 'watched' } & Watched) | FailedWatch;
interface FailedWatch {
  readonly type: 'failed';
  readonly reason: string;
}

const SAMPLE_MS = 8;
/** Priority of the watcher on the processor: a delay of its own would be counted as the node's. */
const PRIORITY = -10;

/** Bytes of memory that a process has. */
export function memoryOf(pid: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  return Number(kilobytes) * 1024;
}

/** Asks for /healthz over one connection, with as little of its own time in the figures as can be. */
class HealthProbe {
  readonly #socket: Socket;
  readonly #request: string;
  #reply = '';
  #waiting: PromiseWithResolvers<void> | null = null;

  private constructor(socket: Socket, request: string) {
    this.#socket = socket;
    this.#request = request;
    socket.setNoDelay(true);
    socket.on('data', (data) => {
      this.#reply += data.toString('latin1');
      const head = this.#reply.indexOf('\r\n\r\n');
      if (head < 0) return;
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(this.#reply)?.[1]);
      if (this.#reply.length >= head + 4 + length) this.#waiting?.resolve();
    });
    socket.on('close', () => this.#waiting?.reject(new Error('/healthz: the connection was closed')));
    socket.on('error', (error) => this.#waiting?.reject(error));
  }

  static open(url: string): Promise<HealthProbe> {
    const { hostname, port, host, pathname } = new URL(url);
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () =>
        resolve(new HealthProbe(socket, `GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)),
      );
      socket.on('error', reject);
    });
  }

  /** Milliseconds until the whole answer is here. */
  async ask(): Promise<number> {
    this.#reply = '';
    this.#waiting = Promise.withResolvers();
    const from = performance.now();
    this.#socket.write(this.#request);
    await this.#waiting.promise;
    const taken = performance.now() - from;
    const status = this.#reply.slice(0, this.#reply.indexOf('\r\n'));
    if (status !== 'HTTP/1.1 200 OK') throw new Error(`/healthz answered ${status}`);
    return taken;
  }
}

/** Requests /healthz, and as a peer a pong, again and again until it is stopped. */
async function watch(pid: number, probe: HealthProbe, peer: TestPeer, over: () => boolean): Promise<Watched> {
  const watched = { memory: 0, health: [] as number[], pongs: [] as number[] };
  const pinging = (async () => {
    do {
      watched.pongs.push(await peer.settled());
      await Bun.sleep(SAMPLE_MS);
    } while (!over());
  })();
  do {
    watched.health.push(await probe.ask());
    watched.memory = Math.max(watched.memory, memoryOf(pid));
    await Bun.sleep(SAMPLE_MS);
  } while (!over());
  await pinging;
  return watched;
}

// In a process of its own: an attack keeps the test itself busy, and that would be measured with it.
if (import.meta.main) {
  let order: WatchOrder | null = null;
  let peer: TestPeer | null = null;
  let probe: HealthProbe | null = null;
  let over = true;
  const report = (message: FromWatcher) => process.send!(message);
  const failed = (error: unknown) => report({ type: 'failed', reason: String(error) });
  try {
    setPriority(PRIORITY);
  } catch {
    // Not everybody may.
  }
  process.on('disconnect', () => process.exit(0));
  process.on('message', (message: ToWatcher) => {
    if (message.type === 'open') {
      order = message;
      Promise.all([TestPeer.join(message.peers, { agent: '/watcher:1/' }), HealthProbe.open(message.health)]).then(
        (opened) => {
          [peer, probe] = opened;
          report({ type: 'ready' });
        },
        failed,
      );
    } else if (message.type === 'end') over = true;
    else {
      over = false;
      watch(order!.pid, probe!, peer!, () => over).then((watched) => report({ type: 'watched', ...watched }), failed);
    }
  });
}
