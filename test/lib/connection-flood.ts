import type { Socket } from 'bun';

export interface FloodTarget {
  readonly port: number;
  /** Sent by each connection as soon as it is open. */
  readonly text?: string;
  readonly tls?: boolean;
  /** Opens another connection for each one that is closed. */
  readonly persistent?: boolean;
}

/** Longest time between two attempts of a persistent client that finds no free slot, milliseconds. */
const RETRY_MS = 50;

/** Many connections to one loopback port from this process; they never read more than the system does by itself. */
export class ConnectionFlood {
  readonly #target: FloodTarget;
  readonly #open = new Set<Socket<undefined>>();
  #ended = false;
  /** Connections that the other side ended. */
  dropped = 0;

  constructor(target: FloodTarget) {
    this.#target = target;
  }

  /** Starts `count` clients, and resolves when each has been connected or refused once. */
  static async start(target: FloodTarget, count: number): Promise<ConnectionFlood> {
    const flood = new ConnectionFlood(target);
    await Promise.all(Array.from({ length: count }, () => flood.#connect()));
    return flood;
  }

  get size(): number {
    return this.#open.size;
  }

  stop(): void {
    this.#ended = true;
    for (const socket of this.#open) socket.terminate();
    this.#open.clear();
  }

  async #connect(): Promise<void> {
    const { port, text, tls = false } = this.#target;
    const lost = (socket: Socket<undefined>) => {
      if (!this.#open.delete(socket) || this.#ended) return;
      this.dropped++;
      this.#again();
    };
    try {
      await Bun.connect<undefined>({
        hostname: '127.0.0.1',
        port,
        ...(tls && { tls: { rejectUnauthorized: false } }),
        socket: {
          open: (socket) => {
            if (this.#ended) return void socket.terminate();
            this.#open.add(socket);
            if (text !== undefined) socket.write(text);
          },
          data() {},
          close: lost,
          end: (socket) => void socket.terminate(),
          error: lost,
          connectError() {},
        },
      });
    } catch {
      this.#again();
    }
  }

  #again(): void {
    if (this.#ended || !this.#target.persistent) return;
    setTimeout(() => void this.#connect(), Math.random() * RETRY_MS);
  }
}
