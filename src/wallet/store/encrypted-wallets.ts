import type { Database } from 'bun:sqlite';
import { durably } from '../../storage/database.ts';

/**
 * Names of the encrypted wallets that this node vouches for, in node.db: it notices an unencrypted file in the place of
 * one.
 */
export class EncryptedWallets {
  readonly #db: Database;

  constructor(nodeDatabase: Database) {
    this.#db = nodeDatabase;
  }

  has(name: string): boolean {
    return this.#db.query('SELECT 1 FROM encrypted_wallets WHERE name = ?').get(name) !== null;
  }

  set(name: string, encrypted: boolean): void {
    if (this.has(name) === encrypted) return;
    const statement = encrypted
      ? 'INSERT INTO encrypted_wallets (name) VALUES (?)'
      : 'DELETE FROM encrypted_wallets WHERE name = ?';
    durably(this.#db, () => void this.#db.query(statement).run(name));
  }
}
