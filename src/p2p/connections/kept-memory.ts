import type { Log } from '../../util/log.ts';
import type { Connection } from './connection.ts';
import type { ConnectionTable } from './connection-table.ts';

/** So much is kept for all peers together, waiting to be sent, handled or completed; the limits of each allow far more. */
const LIMIT = 32_000_000;
/** Over this, each gets little more. */
const CROWDED = 10_000_000;

/**
 * The memory that all peers together take. Over the limit, inbound peers have to go: first of all who has had the most
 * kept for the longest time, as do those who read nothing, or never end what they begin.
 */
export class KeptMemory {
  readonly #table: ConnectionTable;
  readonly #log: Log;
  #total = 0;

  constructor(table: ConnectionTable, log: Log) {
    this.#table = table;
    this.#log = log;
  }

  get isCrowded(): boolean {
    return this.#total > CROWDED;
  }

  /** More is kept, or less. May disconnect anybody. */
  changed(bytes: number): void {
    this.#total += bytes;
    while (this.#total > LIMIT) {
      const worst = this.#worst();
      if (worst === null) return;
      this.#log.debug('too much is kept for peers', { peer: worst.id, bytes: worst.kept, of: this.#total });
      worst.disconnect('too much memory kept');
    }
  }

  #worst(): Connection | null {
    let worst: Connection | null = null;
    let most = 0;
    for (const connection of this.#table.all()) {
      if (connection.type !== 'inbound' || connection.permissions.has('noban')) continue;
      // A millisecond for everybody: a moment tells them apart as well as nothing.
      const burden = connection.kept * (connection.keptMs + 1);
      if (burden <= most) continue;
      most = burden;
      worst = connection;
    }
    return worst;
  }
}
