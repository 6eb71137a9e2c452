import type { Database } from 'bun:sqlite';

/** Single values of chain.db. */
export interface MetaValues {
  /** Height of the best header that is not known to be invalid. */
  bestHeaderHeight: number;
  /** The last event number that is reserved. */
  reservedSeq: number;
  /** Number of events in the log when its newest one had the number `eventRowsUpTo`. */
  eventRows: number;
  eventRowsUpTo: number;
  /**
   * Lowest height from which on the active chain has all bodies and undo data; 0 if only blocks of other branches have
   * been pruned, and absent if none has.
   */
  pruneHeight: number;
  /** End of the last block filter that a row refers to. */
  filterFile: number;
  filterEnd: number;
  /** Height from which on segwit was active at the last start. */
  segwitHeight: number;
}

/** Read access to single values. */
export class MetaStore {
  readonly #get;
  readonly #salt;

  constructor(db: Database) {
    this.#get = db.prepare<{ value: number }, [string]>('SELECT value FROM meta WHERE key = ?');
    this.#salt = db.prepare<{ value: string }, []>("SELECT value FROM meta WHERE key = 'scriptSalt'");
  }

  get(key: keyof MetaValues): number | null {
    return this.#get.get(key)?.value ?? null;
  }

  /** Returns the secret salt of the keys of scripts in this database. */
  scriptSalt(): Uint8Array {
    return Uint8Array.fromHex(this.#salt.get()!.value);
  }
}

/** Write access to single values for the single writer, within its transaction. */
export class MetaWriter {
  readonly #put;

  constructor(db: Database) {
    this.#put = db.prepare<null, [string, number]>('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)');
  }

  put(key: keyof MetaValues, value: number): void {
    this.#put.run(key, value);
  }
}
