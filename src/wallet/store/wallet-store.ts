import type { Database } from 'bun:sqlite';
import type { Outpoint } from '../../primitives/outpoint.ts';
import { BUSY_TIMEOUT_MS, type ChainDatabaseIdentity } from '../../storage/database.ts';
import { RequestStore } from './request-store.ts';
import { closeWalletDatabase, createWalletDatabase, openWalletDatabase } from './wallet-database.ts';
import { WalletKeyStore } from './wallet-keys-store.ts';
import type { AddressPurpose, SealedMasterKey, WalletCursor, WalletMeta } from './wallet-meta.ts';
import { WalletReads } from './wallet-reads.ts';
import { HASHED_PASSPHRASE_SCHEMA_VERSION, raiseSchema } from './wallet-schema.ts';
import { WalletSeals } from './wallet-seals.ts';
import { outpointRowKey } from './wallet-tx-reads.ts';
import { WalletTxStore } from './wallet-tx-store.ts';

/** A wallet's file, for its single writer. */
export class WalletStore {
  readonly path: string;
  readonly keys: WalletKeyStore;
  readonly txs: WalletTxStore;
  readonly requests: RequestStore;
  readonly reads: WalletReads;
  /** MACs over the rows of an encrypted wallet. */
  readonly seals: WalletSeals;
  readonly #db: Database;
  /** Called after a rollback with the descriptors and keys that were written: their copies in memory are invalid. */
  onRollback: (descriptors: readonly number[], keyIds: readonly string[]) => void = () => {};
  readonly #meta = new Map<keyof WalletMeta, unknown>();
  #depth = 0;

  private constructor(path: string, db: Database) {
    this.path = path;
    this.#db = db;
    this.keys = new WalletKeyStore(db);
    this.txs = new WalletTxStore(db);
    this.requests = new RequestStore(db);
    this.reads = WalletReads.on(db);
    this.seals = new WalletSeals(db, path);
    this.keys.atomically = (work) => this.write(work);
  }

  /** Creates the file. Throws where it exists. */
  static create(path: string, identity: ChainDatabaseIdentity): WalletStore {
    return new WalletStore(path, createWalletDatabase(path, identity));
  }

  /** Throws OperatorError on a file that is not such a wallet, or that another program reads for longer than the wait. */
  static open(path: string, identity: ChainDatabaseIdentity, readerWaitMs?: number): WalletStore {
    return new WalletStore(path, openWalletDatabase(path, identity, readerWaitMs));
  }

  /** Runs work in one durable transaction. May nest. */
  write<T>(work: () => T): T {
    if (this.#depth > 0) return work();
    this.#depth++;
    const { changedDescriptors, changedKeys } = this.keys;
    changedDescriptors.clear();
    changedKeys.clear();
    try {
      return this.#db.transaction(() => {
        const result = work();
        this.seals.settle();
        return result;
      })();
    } catch (error) {
      this.seals.rolledBack();
      this.#meta.clear();
      if (changedDescriptors.size + changedKeys.size > 0) this.onRollback([...changedDescriptors], [...changedKeys]);
      throw error;
    } finally {
      this.#depth--;
    }
  }

  /**
   * Runs work in one transaction without waiting for the disk: for data that the chain restores after a power failure.
   */
  writeRelaxed<T>(work: () => T): T {
    if (this.#depth > 0) return work();
    this.#db.run('PRAGMA synchronous = NORMAL');
    try {
      return this.write(work);
    } finally {
      this.#db.run('PRAGMA synchronous = FULL');
    }
  }

  /** Kept in memory, since long work reads it at each step. */
  meta<K extends keyof WalletMeta>(key: K): WalletMeta[K] | null {
    let value = this.#meta.get(key) as WalletMeta[K] | null | undefined;
    if (value === undefined) this.#meta.set(key, (value = this.reads.meta(key)));
    return value;
  }

  setMeta<K extends keyof WalletMeta>(key: K, value: WalletMeta[K]): void {
    this.#meta.delete(key);
    this.#db.query('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)').run(key, JSON.stringify(value));
  }

  /** Stores the sealed master key, inside the caller's transaction. */
  setEncryption(encryption: SealedMasterKey): void {
    this.setMeta('encryption', encryption);
    if (encryption.kdf !== 'scrypt') raiseSchema(this.#db, HASHED_PASSPHRASE_SCHEMA_VERSION);
  }

  cursor(): WalletCursor | null {
    return this.reads.cursor();
  }

  setCursor({ height, hash }: WalletCursor): void {
    const put = this.#db.query('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)');
    put.run('cursorHeight', height);
    put.run('cursorHash', hash);
  }

  /** Labels an address; a purpose of null keeps the present one. */
  setLabel(script: Uint8Array, address: string, label: string, purpose: AddressPurpose | null): void {
    this.#db
      .query(
        `INSERT INTO address_book VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (script) DO UPDATE SET label = excluded.label, purpose = coalesce(excluded.purpose, purpose)`,
      )
      .run(script, address, label, purpose);
  }

  lock(outpoint: Outpoint, persistent: boolean): void {
    this.#db.query('INSERT OR REPLACE INTO locked VALUES (?, ?)').run(outpointRowKey(outpoint), Number(persistent));
  }

  unlock(outpoint: Outpoint): void {
    this.#db.query('DELETE FROM locked WHERE outpoint = ?').run(outpointRowKey(outpoint));
  }

  /** Unlocks those of some outpoints that are locked. */
  unlockEach(outpoints: readonly Outpoint[]): void {
    if (this.#db.query('SELECT 1 FROM locked LIMIT 1').get() === null) return;
    for (const outpoint of outpoints) this.unlock(outpoint);
  }

  /** Unlocks all outpoints, or those locked until the end of the process. */
  unlockAll({ persistent }: { persistent: boolean }): void {
    this.#db.run(`DELETE FROM locked${persistent ? '' : ' WHERE persistent = 0'}`);
  }

  /**
   * Moves the WAL into the file and truncates it, so that neither contains overwritten rows. Returns false, without
   * waiting, while a reader needs the WAL.
   */
  truncateWal(): boolean {
    this.#db.run('PRAGMA busy_timeout = 0');
    try {
      return this.#db.query<{ busy: number }, []>('PRAGMA wal_checkpoint(TRUNCATE)').get()!.busy === 0;
    } finally {
      this.#db.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    }
  }

  close(): void {
    this.seals.close();
    closeWalletDatabase(this.#db);
  }
}
