import type { Database } from 'bun:sqlite';
import { durably } from './database.ts';

const KEY = 'reservedSeq';

/**
 * The highest event number that may have been issued, in node.db: outside the folder of the chain, so that a chain that
 * is removed and synced again numbers its events above those that clients have seen.
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

  /** Raises the floor durably; a lower number changes nothing. Must be called outside of any transaction. */
  raise(seq: number): void {
    if (seq > this.get()) durably(this.#db, () => void this.#put.run(KEY, seq));
  }
}
