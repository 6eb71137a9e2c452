import type { Database } from 'bun:sqlite';
import { durably } from './database.ts';

const KEY = 'reservedSeq';

/**
 * The highest number that an event may have had, in node.db: outside the folder of the chain, so that a chain that is
 * removed and synced again numbers its events above those that clients have seen.
 */
export class SeqFloor {
  readonly #db: Database;
  readonly #get;
  readonly #put;

  constructor(nodeDatabase: Database) {
    this.#db = nodeDatabase;
    this.#get = nodeDatabase.prepare<{ value: number }, [string]>('SELECT value FROM meta WHERE key = ?');
    this.#put = nodeDatabase.prepare<null, [string, number]>('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)');
  }

  get(): number {
    return this.#get.get(KEY)?.value ?? 0;
  }

  /** Survives a power cut; outside of any transaction. A number below the floor changes nothing. */
  raise(seq: number): void {
    if (seq > this.get()) durably(this.#db, () => void this.#put.run(KEY, seq));
  }
}
