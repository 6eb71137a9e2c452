import type { Log } from '../../util/log.ts';
import { shuffled, systemRandomBelow } from '../../util/random.ts';
import type { Connection } from './connection.ts';
import type { PeerLogic } from './peer-link.ts';

/** Time and number of messages per slice, after which sockets and timers are served. A started round is completed. */
const SLICE_MS = 4;
const SLICE_MESSAGES = 256;

/**
 * Passes received messages to the protocol logic, round by round with one message per peer. A peer whose message is
 * still in process does not delay the others.
 */
export class MessageScheduler {
  readonly #logic: Pick<PeerLogic, 'message'>;
  readonly #log: Log;
  /** Connections with a ready message and none in process. */
  readonly #waiting = new Set<Connection>();
  readonly #busy = new Set<Connection>();
  #scheduled: ReturnType<typeof setImmediate> | null = null;

  constructor(logic: Pick<PeerLogic, 'message'>, log: Log) {
    this.#logic = logic;
    this.#log = log;
  }

  /** Schedules a connection with a ready message. */
  schedule(connection: Connection): void {
    if (this.#busy.has(connection)) return;
    this.#waiting.add(connection);
    this.#scheduled ??= setImmediate(() => this.#run());
  }

  /** Removes a connection; a message in process continues. */
  removeConnection(connection: Connection): void {
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
    // Uses the real clock: the slice limits how long other tasks wait.
    const until = performance.now() + SLICE_MS;
    let count = 0;
    while (this.#waiting.size > 0 && count < SLICE_MESSAGES && performance.now() < until) {
      // As in Core, the order is random in each round, so that no peer can choose its position.
      for (const connection of shuffled([...this.#waiting], systemRandomBelow)) {
        this.#waiting.delete(connection);
        this.#processMessage(connection);
        count++;
      }
    }
    if (this.#waiting.size > 0) this.#scheduled ??= setImmediate(() => this.#run());
  }

  #processMessage(connection: Connection): void {
    const message = connection.canProcessMessage ? connection.dequeueMessage() : undefined;
    if (message === undefined) return;
    const { type } = message;
    try {
      const work = this.#logic.message(connection, message);
      if (work === undefined) {
        connection.finishMessage();
        this.#scheduleNext(connection);
        return;
      }
      this.#busy.add(connection);
      const done = () => {
        connection.finishMessage();
        if (this.#busy.delete(connection)) this.#scheduleNext(connection);
      };
      work.then(done, (error) => {
        this.#failed(connection, type, error);
        done();
      });
    } catch (error) {
      this.#failed(connection, type, error);
    }
  }

  #scheduleNext(connection: Connection): void {
    if (connection.canProcessMessage) this.schedule(connection);
  }

  /** `PeerLogic.message` must not throw, so this is an internal error. One lost peer is better than a crash. */
  #failed(connection: Connection, type: string, error: unknown): void {
    this.#log.error('message processing failed', { peer: connection.id, type, error });
    connection.disconnect('internal error');
  }
}
