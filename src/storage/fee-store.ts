import type { Database } from 'bun:sqlite';

/** The history of fee estimation in node.db: one row, which is replaced as a whole. */
export class FeeStore {
  readonly #put;
  readonly #get;

  constructor(db: Database) {
    this.#put = db.prepare('INSERT OR REPLACE INTO fee_history (id, saved_at, history) VALUES (1, ?, ?)');
    this.#get = db.prepare<{ at: number; history: Uint8Array }, []>(
      'SELECT saved_at AS at, history FROM fee_history WHERE id = 1',
    );
  }

  /** Returns the saved bytes and the time of saving, Unix seconds. */
  load(): { readonly at: number; readonly history: Uint8Array } | null {
    return this.#get.get();
  }

  save(history: Uint8Array, at: number): void {
    this.#put.run(at, history);
  }
}
