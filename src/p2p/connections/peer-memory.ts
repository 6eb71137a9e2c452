import type { Log } from '../../util/log.ts';
import type { Connection } from './connection.ts';
import type { ConnectionTable } from './connection-table.ts';

/**
 * Limit of the memory of all peers together, bytes, for messages to send, to process and to complete; the sum of the
 * limits per peer is far higher.
 */
const LIMIT = 32_000_000;
/** Memory above which the limits per peer are lowered, bytes. */
const HIGH = 10_000_000;

/**
 * The memory used for all peers together. Above the limit inbound peers are disconnected, first those with the largest
 * product of memory and time, such as peers that do not read or never complete a message.
 */
export class PeerMemory {
  readonly #table: ConnectionTable;
  readonly #log: Log;
  #total = 0;

  constructor(table: ConnectionTable, log: Log) {
    this.#table = table;
    this.#log = log;
  }

  get isHigh(): boolean {
    return this.#total > HIGH;
  }

  /** Updates the total by `bytes`. May disconnect peers. */
  update(bytes: number): void {
    this.#total += bytes;
    while (this.#total > LIMIT) {
      const worst = this.#worst();
      if (worst === null) return;
      this.#log.debug('peer memory limit exceeded', { peer: worst.id, bytes: worst.memory, of: this.#total });
      worst.disconnect('too much memory kept');
    }
  }

  #worst(): Connection | null {
    let worst: Connection | null = null;
    let most = 0;
    for (const connection of this.#table.all()) {
      if (connection.type !== 'inbound' || connection.permissions.has('noban')) continue;
      // The added millisecond keeps the product positive for data that is not waiting.
      const burden = connection.memory * (connection.memoryAgeMs + 1);
      if (burden <= most) continue;
      most = burden;
      worst = connection;
    }
    return worst;
  }
}
