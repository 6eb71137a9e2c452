import type { Database } from 'bun:sqlite';
import type { Outpoint } from '../../primitives/outpoint.ts';
import { readSnapshot } from '../../storage/database.ts';
import { openWalletReader } from './wallet-database.ts';
import { WalletKeyReads } from './wallet-keys-store.ts';
import type { AddressPurpose, WalletCursor, WalletMeta } from './wallet-meta.ts';
import { TxStateCode } from './wallet-schema.ts';
import { outpointRowKey, TX_COLUMNS, txRecord, WalletTxReads, type WalletTxRecord } from './wallet-tx-reads.ts';

/** An entry of the address book. */
export interface BookEntry {
  readonly script: Uint8Array;
  readonly address: string;
  readonly label: string;
  readonly purpose: AddressPurpose | null;
}

/** An unspent output of the wallet with its transaction. */
export interface UnspentCoin {
  readonly tx: number;
  readonly txid: Uint8Array;
  readonly vout: number;
  readonly value: number;
  readonly script: Uint8Array;
  readonly height: number | null;
  readonly coinbase: boolean;
  /** State of that transaction, one of TxStateCode. */
  readonly state: number;
  /** Whether that transaction spends coins of the wallet. */
  readonly fromMe: boolean;
  /** First descriptor of the script. */
  readonly descriptor: number;
}

/** An output that a script of the wallet received, spent or not. */
export interface ReceivedCoin {
  readonly txid: Uint8Array;
  readonly script: Uint8Array;
  readonly value: number;
  readonly height: number | null;
  readonly state: number;
  readonly coinbase: boolean;
}

/** The columns that decide how many list entries a transaction has. */
export interface TxOutline {
  readonly id: number;
  readonly state: number;
  readonly height: number | null;
  /** Number of its outputs that pay the wallet. */
  readonly own: number;
}

/** An outline with the amounts that distinguish payments from change. */
export interface SpendOutline extends TxOutline {
  /** Satoshis of the wallet that it spends. */
  readonly debit: number;
  /** Number of outputs that pay the wallet without an address book entry. */
  readonly change: number;
}

/** Read in a few milliseconds. */
const UNSPENT_PAGE = 1000;
const FIRST_PAGE = 32;
const LONGEST_PAGE = 512;

interface UnspentRow {
  tx: number;
  txid: Uint8Array;
  vout: number;
  value: number;
  script: Uint8Array;
  height: number | null;
  coinbase: number;
  state: number;
  from_me: number;
  descriptor: number;
}

type TxRow = Parameters<typeof txRecord>[0];

/** Read access to a wallet. Reads that must be consistent run in one `snapshot`. */
export class WalletReads {
  readonly keys: WalletKeyReads;
  readonly txs: WalletTxReads;
  readonly #db: Database;
  readonly #owned: boolean;
  readonly #book;
  readonly #outlines;

  private constructor(db: Database, owned: boolean) {
    this.#db = db;
    this.#owned = owned;
    this.keys = new WalletKeyReads(db);
    this.txs = new WalletTxReads(db);
    this.#book = db.prepare<BookEntry, [Uint8Array]>('SELECT * FROM address_book WHERE script = ?');
    this.#outlines = db.prepare<SpendOutline, [number, number]>(
      `SELECT t.id, t.state, t.height, t.debit, count(c.tx) AS own, count(c.tx) - count(b.script) AS change
       FROM (SELECT id, state, height, debit FROM txs WHERE id < ? ORDER BY id DESC LIMIT ?) t
       LEFT JOIN coins c ON c.tx = t.id LEFT JOIN address_book b ON b.script = c.script
       GROUP BY t.id ORDER BY t.id DESC`,
    );
  }

  /** Opens a separate connection for reading. */
  static open(path: string): WalletReads {
    return new WalletReads(openWalletReader(path), true);
  }

  /** Reads on the writer's connection. */
  static on(db: Database): WalletReads {
    return new WalletReads(db, false);
  }

  /** Runs `read` on one state of the file; it must be synchronous, and may nest. */
  snapshot<T>(read: () => T): T {
    return this.#owned ? readSnapshot(this.#db, read) : read();
  }

  meta<K extends keyof WalletMeta>(key: K): WalletMeta[K] | null {
    const row = this.#db.query<{ value: string }, [string]>('SELECT value FROM meta WHERE key = ?').get(key);
    return row && (JSON.parse(row.value) as WalletMeta[K]);
  }

  cursor(): WalletCursor | null {
    const rows = this.#db
      .query<{ key: string; value: unknown }, []>(
        "SELECT key, value FROM meta WHERE key IN ('cursorHash', 'cursorHeight') ORDER BY key",
      )
      .all();
    return rows.length === 2 ? { hash: rows[0]!.value as Uint8Array, height: rows[1]!.value as number } : null;
  }

  txCount(): number {
    return this.#db.query<{ n: number }, []>('SELECT count(*) AS n FROM txs').get()!.n;
  }

  /** Satoshis of all confirmed unspent outputs, including immature ones. */
  confirmedTotal(): number {
    return this.#db.query<{ confirmed: number }, []>('SELECT confirmed FROM totals').get()!.confirmed;
  }

  /** Satoshis of unspent outputs confirmed at or above a height: all, or those of coinbases. */
  unspentFrom(height: number, { coinbase }: { coinbase: boolean }): number {
    return this.#db
      .query<{ value: number }, [number]>(
        `SELECT coalesce(sum(value), 0) AS value FROM coins
         INDEXED BY ${coinbase ? 'coins_coinbase' : 'coins_unspent'}
         WHERE spent = 0 AND height >= ?${coinbase ? ' AND coinbase = 1' : ''}`,
      )
      .get(height)!.value;
  }

  /** Unspent outputs of unconfirmed transactions. */
  unconfirmedUnspent(): UnspentCoin[] {
    return this.#unspent('c.spent = 0 AND c.height IS NULL');
  }

  /** Coins that are spent by a transaction in neither a block nor the mempool. */
  pendingSpends(): UnspentCoin[] {
    return this.#unspent('c.spent = 3');
  }

  /** All unspent outputs, confirmed or not. */
  unspent(): UnspentCoin[] {
    return this.#unspent('c.spent = 0');
  }

  /** All unspent outputs in pages, in the order of transactions; the file may be written between two pages. */
  *unspentPages(): Generator<UnspentCoin[], void> {
    const keys = this.#db
      .query<{ tx: number; vout: number }, []>('SELECT tx, vout FROM coins WHERE spent = 0 ORDER BY tx, vout')
      .values() as [number, number][];
    for (let at = 0; at < keys.length; at += UNSPENT_PAGE)
      yield this.#unspent(
        'c.spent = 0',
        `json_each(?) k CROSS JOIN coins c ON c.tx = k.value ->> 0 AND c.vout = k.value ->> 1`,
        JSON.stringify(keys.slice(at, at + UNSPENT_PAGE)),
      );
  }

  unspentCount(): number {
    return this.#db.query<{ n: number }, []>('SELECT count(*) AS n FROM coins WHERE spent = 0').get()!.n;
  }

  /** Number of outputs that pay the wallet, spent or not. */
  receivedCount(): number {
    return this.#db.query<{ n: number }, []>('SELECT count(*) AS n FROM coins').get()!.n;
  }

  /** Outputs that one script received, spent or not, in the order of transactions. */
  receivedBy(script: Uint8Array): ReceivedCoin[] {
    return this.#received('WHERE c.script = ?', script);
  }

  /** Outputs that all scripts of the wallet received. */
  received(): ReceivedCoin[] {
    return this.#received('');
  }

  /** Outlines of transactions, newest first. */
  *outlines(): Generator<SpendOutline> {
    let below = Number.MAX_SAFE_INTEGER;
    for (let size = FIRST_PAGE; ; size = Math.min(size * 2, LONGEST_PAGE)) {
      const rows = this.#outlines.all(below, size);
      yield* rows;
      if (rows.length < size) return;
      below = rows.at(-1)!.id;
    }
  }

  /** Transactions that pay addresses with a label, newest first; `own` counts those outputs. */
  transactionsPayingLabel(label: string): TxOutline[] {
    return this.#db
      .query<TxOutline, [string]>(
        `SELECT t.id, t.state, t.height, count(*) AS own FROM address_book b JOIN coins c ON c.script = b.script
         JOIN txs t ON t.id = c.tx WHERE b.label = ? GROUP BY t.id ORDER BY t.id DESC`,
      )
      .all(label);
  }

  /** Transactions that are in blocks above a height, conflict with one, or are unconfirmed; in order. */
  transactionsSince(height: number): WalletTxRecord[] {
    return this.#db
      .query<TxRow, [number]>(
        `SELECT ${TX_COLUMNS} FROM txs WHERE height > ? UNION ALL
         SELECT ${TX_COLUMNS} FROM txs WHERE state NOT IN (2, 3) ORDER BY id`,
      )
      .all(height)
      .map(txRecord);
  }

  /** Whether a transaction is in a block of this height or conflicts with it. */
  hasTransactionsAt(height: number): boolean {
    return this.#db.query('SELECT 1 FROM txs WHERE height = ? LIMIT 1').get(height) !== null;
  }

  allTransactions(): WalletTxRecord[] {
    return this.#db.query<TxRow, []>(`SELECT ${TX_COLUMNS} FROM txs ORDER BY id`).all().map(txRecord);
  }

  variants(tx: number): Uint8Array[] {
    return this.#db
      .query<{ wtxid: Uint8Array }, [number]>('SELECT wtxid FROM tx_variants WHERE tx = ?')
      .all(tx)
      .map(({ wtxid }) => wtxid);
  }

  /** Returns null for an address without an entry, such as a change address. */
  bookEntry(script: Uint8Array): BookEntry | null {
    return this.#book.get(script);
  }

  addressBook(): BookEntry[] {
    return this.#db.query<BookEntry, []>('SELECT * FROM address_book ORDER BY script').all();
  }

  entriesWithLabel(label: string): BookEntry[] {
    return this.#db.query<BookEntry, [string]>('SELECT * FROM address_book WHERE label = ? ORDER BY script').all(label);
  }

  /** Sorted. */
  labels(purpose: AddressPurpose | null): string[] {
    return this.#db
      .query<{ label: string }, [string | null]>(
        'SELECT DISTINCT label FROM address_book WHERE ?1 IS NULL OR purpose = ?1 ORDER BY label',
      )
      .all(purpose)
      .map(({ label }) => label);
  }

  locked(): Outpoint[] {
    return this.#db
      .query<{ outpoint: Uint8Array }, []>('SELECT outpoint FROM locked ORDER BY outpoint')
      .all()
      .map(({ outpoint }) => ({
        txid: outpoint.slice(0, 32) as Outpoint['txid'],
        vout: new DataView(outpoint.buffer, outpoint.byteOffset + 32).getUint32(0),
      }));
  }

  isLocked(outpoint: Outpoint): boolean {
    return this.#db.query('SELECT 1 FROM locked WHERE outpoint = ?').get(outpointRowKey(outpoint)) !== null;
  }

  /** Whether the script was spent from. */
  isUsed(script: Uint8Array): boolean {
    return this.#db.query('SELECT 1 FROM scripts WHERE script = ? AND used = 1').get(script) !== null;
  }

  close(): void {
    if (this.#owned) this.#db.close();
  }

  #unspent(where: string, coins = 'coins c', ...args: string[]): UnspentCoin[] {
    return this.#db
      .query<UnspentRow, string[]>(
        `SELECT c.tx, t.txid, c.vout, c.value, c.script, c.height, c.coinbase, t.state, t.debit > 0 AS from_me,
           (SELECT descriptor FROM scripts s WHERE s.script = c.script LIMIT 1) AS descriptor
         FROM ${coins} JOIN txs t ON t.id = c.tx WHERE ${where}`,
      )
      .all(...args)
      .map((row) => ({
        tx: row.tx,
        txid: row.txid,
        vout: row.vout,
        value: row.value,
        script: row.script,
        height: row.height,
        coinbase: row.coinbase === 1,
        state: row.state,
        fromMe: row.from_me === 1,
        descriptor: row.descriptor,
      }));
  }

  #received(where: string, ...args: Uint8Array[]): ReceivedCoin[] {
    return this.#db
      .query<Omit<ReceivedCoin, 'coinbase'> & { coinbase: number }, Uint8Array[]>(
        `SELECT t.txid, c.script, c.value, t.height, t.state, c.coinbase
         FROM coins c JOIN txs t ON t.id = c.tx ${where} ORDER BY c.tx`,
      )
      .all(...args)
      .map((row) => ({ ...row, coinbase: row.coinbase === 1 }));
  }
}

/** Confirmations as Core counts them: negative for a conflicted transaction. */
export function depthOf({ state, height }: { state: number; height: number | null }, tipHeight: number): number {
  if (state === TxStateCode.CONFIRMED) return tipHeight - height! + 1;
  return state === TxStateCode.CONFLICTED ? -(tipHeight - height! + 1) : 0;
}
