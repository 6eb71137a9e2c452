import type { Database } from 'bun:sqlite';

/** A saved ban. Times are Unix seconds. */
export interface SavedBan {
  /** In CIDR notation. */
  readonly subnet: string;
  readonly createdAt: number;
  readonly until: number;
}

/** The bans in node.db. Each change is committed at once. */
export class BanStore {
  readonly #db: Database;
  readonly #all;
  readonly #put;
  readonly #remove;

  constructor(db: Database) {
    this.#db = db;
    this.#all = db.prepare<SavedBan, []>('SELECT subnet, created_at AS createdAt, until FROM bans ORDER BY subnet');
    this.#put = db.prepare('INSERT OR REPLACE INTO bans (subnet, created_at, until) VALUES (?, ?, ?)');
    this.#remove = db.prepare('DELETE FROM bans WHERE subnet = ?');
  }

  all(): SavedBan[] {
    return this.#all.all();
  }

  put({ subnet, createdAt, until }: SavedBan): void {
    this.#put.run(subnet, createdAt, until);
  }

  /** Removes all of the bans or none. */
  remove(subnets: Iterable<string>): void {
    this.#db.transaction(() => {
      for (const subnet of subnets) this.#remove.run(subnet);
    })();
  }
}
