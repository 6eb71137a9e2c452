import type { Database } from 'bun:sqlite';
import { durably } from '../../storage/database.ts';

/**
 * The wallets that this node has had, in node.db: outside of their directory, so that its loss is noticed. Each change
 * is durable.
 */
export class KnownWallets {
  readonly #db: Database;
  readonly #all;
  readonly #upsert;
  readonly #remove;

  constructor(nodeDatabase: Database) {
    this.#db = nodeDatabase;
    this.#all = nodeDatabase.prepare<{ name: string; in_use: number }, []>(
      'SELECT name, in_use FROM wallets ORDER BY name',
    );
    this.#upsert = nodeDatabase.prepare<null, [string, number]>(
      'INSERT OR REPLACE INTO wallets (name, in_use) VALUES (?, ?)',
    );
    this.#remove = nodeDatabase.prepare<null, [string]>('DELETE FROM wallets WHERE name = ?');
  }

  /** Returns the names in order; true where the wallet was loaded and has not been unloaded since. */
  all(): ReadonlyMap<string, boolean> {
    return new Map(this.#all.all().map(({ name, in_use }) => [name, in_use === 1]));
  }

  remember(name: string, inUse: boolean): void {
    if (this.all().get(name) !== inUse) durably(this.#db, () => void this.#upsert.run(name, inUse ? 1 : 0));
  }

  forget(name: string): void {
    durably(this.#db, () => void this.#remove.run(name));
  }
}
