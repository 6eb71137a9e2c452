import type { Database } from 'bun:sqlite';

/** Single values of chain.db that no table holds. */
export interface MetaValues {
  /** Height of the best header that is not known to be invalid. */
  bestHeaderHeight: number;
  /** The last id that was given to a script; one that was dropped is not given again. */
  lastScriptId: number;
  /** The last number that may have been given to an event. */
  reservedSeq: number;
  /** How many events the log held when its newest one had this number. */
  eventRows: number;
  eventRowsUpTo: number;
  /** Where the last block filter that a row refers to ends. */
  filterFile: number;
  filterEnd: number;
}

/** Single values, for reading. */
export class MetaStore {
  readonly #get;

  constructor(db: Database) {
    this.#get = db.prepare<{ value: number }, [string]>('SELECT value FROM meta WHERE key = ?');
  }

  get(key: keyof MetaValues): number | null {
    return this.#get.get(key)?.value ?? null;
  }
}

/** Single values, for the one writer; inside its transaction. */
export class MetaWriter {
  readonly #put;

  constructor(db: Database) {
    this.#put = db.prepare<null, [string, number]>('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)');
  }

  put(key: keyof MetaValues, value: number): void {
    this.#put.run(key, value);
  }
}
