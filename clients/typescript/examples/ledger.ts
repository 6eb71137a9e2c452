// The ledger of an exchange in SQLite: deposits, moves of money and the position, in one database.
import type { Deposit, DepositChange, DepositStore, KnownDeposit, PrunedTransaction } from '../deposit-watcher.ts';

/** The part that `bun:sqlite` and `node:sqlite` have in common. */
interface Sqlite {
  exec(sql: string): unknown;
  prepare(sql: string): Statement;
}

interface Statement {
  run(...values: Value[]): unknown;
  get(...values: Value[]): unknown;
  all(...values: Value[]): unknown[];
}

type Value = string | number | null;

async function openSqlite(path: string): Promise<Sqlite> {
  if ('Bun' in globalThis)
    return new (await import('bun:sqlite')).Database(path, { create: true }) as unknown as Sqlite;
  return new (await import('node:sqlite')).DatabaseSync(path) as unknown as Sqlite;
}

const SCHEMA = `
PRAGMA busy_timeout = 10000;
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS position (id INTEGER PRIMARY KEY CHECK (id = 1), cursor TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS addresses (address TEXT PRIMARY KEY, customer TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS deposits (
  txid TEXT, n INTEGER, address TEXT NOT NULL, value INTEGER NOT NULL, block TEXT, height INTEGER,
  coinbase INTEGER NOT NULL, credited INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (txid, n));
-- Rows are added and never changed. The balance of a customer is their sum.
CREATE TABLE IF NOT EXISTS moves (
  id INTEGER PRIMARY KEY, customer TEXT NOT NULL, satoshis INTEGER NOT NULL, reason TEXT NOT NULL, reference TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS withdrawals (
  id TEXT PRIMARY KEY, customer TEXT NOT NULL, address TEXT NOT NULL, satoshis INTEGER NOT NULL, txid TEXT);
`;

interface Row extends Deposit {
  readonly credited: number;
}

export interface Withdrawal {
  readonly id: string;
  readonly customer: string;
  readonly address: string;
  readonly satoshis: number;
  /** null until the node has replied. */
  readonly txid: string | null;
}

export class Ledger implements DepositStore {
  readonly confirmations: number;
  readonly #db: Sqlite;

  private constructor(db: Sqlite, confirmations: number) {
    this.#db = db;
    this.confirmations = confirmations;
    db.exec(SCHEMA);
  }

  static async open(path: string, confirmations: number): Promise<Ledger> {
    return new Ledger(await openSqlite(path), confirmations);
  }

  position(): string | null {
    return (
      (this.#db.prepare('SELECT cursor FROM position').get() as { cursor: string } | null | undefined)?.cursor ?? null
    );
  }

  addresses(): string[] {
    return this.#column('SELECT address FROM addresses');
  }

  unconfirmed(): string[] {
    return this.#column('SELECT DISTINCT txid FROM deposits WHERE block IS NULL AND credited = 0');
  }

  addAddress(address: string, customer: string): void {
    this.#db.prepare('INSERT INTO addresses VALUES (?, ?)').run(address, customer);
  }

  apply(changes: readonly DepositChange[], position: string): void {
    this.#transaction(() => {
      for (const change of changes) this.#applyChange(change);
      this.#storePosition(position);
    });
  }

  reconcile(known: readonly KnownDeposit[], position: string, pruned: readonly PrunedTransaction[]): void {
    this.#transaction(() => {
      const outputs = new Set(known.map(({ txid, n }) => `${txid}:${n}`));
      const kept = new Set(pruned.map(({ txid }) => txid));
      for (const row of this.#rows('1')) {
        if (outputs.has(`${row.txid}:${row.n}`) || kept.has(row.txid)) continue;
        this.#setCredited(row, false);
        this.#db.prepare('DELETE FROM deposits WHERE txid = ? AND n = ?').run(row.txid, row.n);
      }
      for (const deposit of known) {
        this.#store(deposit);
        for (const row of this.#rows('txid = ? AND n = ?', deposit.txid, deposit.n))
          this.#setCredited(row, deposit.confirmations >= this.confirmations);
      }
      for (const { txid, blockHash, height, confirmations } of pruned) {
        this.#db.prepare('UPDATE deposits SET block = ?, height = ? WHERE txid = ?').run(blockHash, height, txid);
        for (const row of this.#rows('txid = ?', txid)) this.#setCredited(row, confirmations >= this.confirmations);
      }
      this.#storePosition(position);
    });
  }

  balance(customer: string): number {
    const sql = 'SELECT coalesce(sum(satoshis), 0) AS sum FROM moves WHERE customer = ?';
    return (this.#db.prepare(sql).get(customer) as { sum: number }).sum;
  }

  customers(): string[] {
    return this.#column('SELECT DISTINCT customer FROM addresses ORDER BY customer');
  }

  /**
   * Books a withdrawal before it is sent. A repetition returns the stored one. After a reorg a balance may be negative; the
   * customer can then withdraw nothing until deposits have made up for it.
   */
  bookWithdrawal(id: string, customer: string, address: string, satoshis: number): Withdrawal {
    return this.#transaction(() => {
      const stored = this.withdrawal(id);
      if (stored) {
        if (stored.customer === customer && stored.address === address && stored.satoshis === satoshis) return stored;
        throw new Error(`withdrawal ${id} exists with other values`);
      }
      if (!(satoshis > 0)) throw new Error('a withdrawal has at least 1 satoshi');
      if (this.balance(customer) < satoshis) throw new Error(`${customer} has ${this.balance(customer)} satoshis`);
      this.#move(customer, -satoshis, 'withdrawal', id);
      this.#db.prepare('INSERT INTO withdrawals VALUES (?, ?, ?, ?, NULL)').run(id, customer, address, satoshis);
      return { id, customer, address, satoshis, txid: null };
    });
  }

  withdrawal(id: string): Withdrawal | null {
    return (this.#db.prepare('SELECT * FROM withdrawals WHERE id = ?').get(id) as Withdrawal | undefined) ?? null;
  }

  storeTxid(id: string, txid: string): void {
    this.#db.prepare('UPDATE withdrawals SET txid = ? WHERE id = ?').run(txid, id);
  }

  #applyChange(change: DepositChange): void {
    switch (change.type) {
      case 'unconfirmed':
      case 'confirmed':
        this.#store(change.deposit);
        break;
      case 'reverted':
        this.#db
          .prepare('UPDATE deposits SET block = NULL, height = NULL WHERE txid = ? AND address = ?')
          .run(change.txid, change.address);
        break;
      case 'removed':
        // Only an unconfirmed deposit can leave the mempool. A credited one would have lost its credit before.
        this.#db
          .prepare(
            'DELETE FROM deposits WHERE txid = ? AND block IS NULL AND credited = 0 AND address = coalesce(?, address)',
          )
          .run(change.txid, change.address);
        break;
      default:
        for (const row of this.#rows('txid = ? AND address = ?', change.txid, change.address))
          this.#setCredited(row, change.type === 'final');
    }
  }

  #store({ txid, n, address, value, blockHash, height, isCoinbase }: Deposit): void {
    this.#db
      .prepare(
        `INSERT INTO deposits
           SELECT ?, ?, address, ?, ?, ?, ?, 0 FROM addresses WHERE address = ?
           ON CONFLICT DO UPDATE SET block = excluded.block, height = excluded.height`,
      )
      .run(txid, n, value, blockHash, height, isCoinbase ? 1 : 0, address);
  }

  /** A deposit is credited once, and its credit is reversed by a move of its own. A repetition changes nothing. */
  #setCredited({ txid, n, address, value, credited }: Row, isFinal: boolean): void {
    if ((credited === 1) === isFinal) return;
    const customer = this.#column<string>('SELECT customer FROM addresses WHERE address = ?', address)[0]!;
    this.#move(customer, isFinal ? value : -value, isFinal ? 'deposit' : 'reorg', `${txid}:${n}`);
    this.#db.prepare('UPDATE deposits SET credited = ? WHERE txid = ? AND n = ?').run(isFinal ? 1 : 0, txid, n);
  }

  #move(customer: string, satoshis: number, reason: string, reference: string): void {
    this.#db
      .prepare('INSERT INTO moves (customer, satoshis, reason, reference) VALUES (?, ?, ?, ?)')
      .run(customer, satoshis, reason, reference);
  }

  #storePosition(position: string): void {
    this.#db.prepare('INSERT OR REPLACE INTO position VALUES (1, ?)').run(position);
  }

  #rows(condition: string, ...values: Value[]): Row[] {
    return this.#db.prepare(`SELECT * FROM deposits WHERE ${condition}`).all(...values) as Row[];
  }

  #column<T = string>(sql: string, ...values: Value[]): T[] {
    return this.#db
      .prepare(sql)
      .all(...values)
      .map((row) => Object.values(row as object)[0] as T);
  }

  #transaction<T>(run: () => T): T {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      const result = run();
      this.#db.exec('COMMIT');
      return result;
    } catch (error) {
      this.#db.exec('ROLLBACK');
      throw error;
    }
  }
}
