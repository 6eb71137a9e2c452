import type { Log } from '../../util/log.ts';
import { shuffled, systemRandomBelow } from '../../util/random.ts';
import type { Connection } from './connection.ts';
import type { PeerLogic } from './peer-link.ts';

/** So long, and so many messages, at a stretch, and the round to its end; then sockets and timers have their turn. */
const SLICE_MS = 4;
const SLICE_MESSAGES = 256;

/**
 * Hands received messages to the logic: one at a time of each peer, peer after peer. A peer whose message takes long waits
 * for it alone.
 */
export class MessageTurns {
  readonly #logic: Pick<PeerLogic, 'message'>;
  readonly #log: Log;
  /** Those that have a message and no other in work. */
  readonly #waiting = new Set<Connection>();
  readonly #busy = new Set<Connection>();
  #scheduled: ReturnType<typeof setImmediate> | null = null;

  constructor(logic: Pick<PeerLogic, 'message'>, log: Log) {
    this.#logic = logic;
    this.#log = log;
  }

  /** The connection has a message. */
  ready(connection: Connection): void {
    if (this.#busy.has(connection)) return;
    this.#waiting.add(connection);
    this.#scheduled ??= setImmediate(() => this.#run());
  }

  /** Forgets the connection; what it has in work goes on. */
  remove(connection: Connection): void {
    this.#waiting.delete(connection);
    this.#busy.delete(connection);
  }

  stop(): void {
    if (this.#scheduled !== null) clearImmediate(this.#scheduled);
    this.#scheduled = null;
    this.#waiting.clear();
  }

  #run(): void {
    this.#scheduled = null;
    // The true time on purpose: it says how long others have to wait for us.
    const until = performance.now() + SLICE_MS;
    let count = 0;
    while (this.#waiting.size > 0 && count < SLICE_MESSAGES && performance.now() < until) {
      // As in Core, the order is another one each time, so that nobody places himself around others.
      for (const connection of shuffled([...this.#waiting], systemRandomBelow)) {
        this.#waiting.delete(connection);
        this.#turn(connection);
        count++;
      }
    }
    if (this.#waiting.size > 0) this.#scheduled ??= setImmediate(() => this.#run());
  }

  #turn(connection: Connection): void {
    const message = connection.hasTurn ? connection.take() : undefined;
    if (message === undefined) return;
    const { type } = message;
    try {
      const work = this.#logic.message(connection, message);
      if (work === undefined) {
        connection.finished();
        this.#next(connection);
        return;
      }
      this.#busy.add(connection);
      const done = () => {
        connection.finished();
        if (this.#busy.delete(connection)) this.#next(connection);
      };
      work.then(done, (error) => {
        this.#failed(connection, type, error);
        done();
      });
    } catch (error) {
      this.#failed(connection, type, error);
    }
  }

  #next(connection: Connection): void {
    if (connection.hasTurn) this.ready(connection);
  }

  /** The logic promised not to throw: it is our mistake, and one peer is a small price for staying up. */
  #failed(connection: Connection, type: string, error: unknown): void {
    this.#log.error('message could not be processed', { peer: connection.id, type, error });
    connection.disconnect('internal error');
  }
}
