import type { Database } from 'bun:sqlite';
import { assert } from '../../util/assert.ts';

/** A private key as stored: 32 bytes, or sealed. */
export interface StoredKey {
  /** HASH160 of its public key. */
  readonly id: Uint8Array;
  readonly compressed: boolean;
  readonly data: Uint8Array;
}

/** A descriptor of a wallet. The scripts of indexes below `filled` are stored; ranges end before `rangeEnd`. */
export interface DescriptorRecord {
  readonly id: number;
  /** Core's DescriptorID. */
  readonly key: Uint8Array;
  /** With public keys. */
  readonly text: string;
  /** With the keys behind the last hardened steps, for display. */
  readonly normalized: string;
  readonly outputType: string | null;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly rangeStart: number;
  readonly rangeEnd: number;
  readonly nextIndex: number;
  readonly filled: number;
  /** The address type that it is the active descriptor of, or null. */
  readonly active: string | null;
  readonly internal: boolean | null;
}

/** An extended public key that cannot be derived without the private keys. */
export interface CacheRecord {
  readonly kind: string;
  readonly expression: number;
  readonly position: number | null;
  /** Extended key as text. */
  readonly key: string;
}

/** A script of the wallet: one row for each of its descriptors. */
export interface ScriptRecord {
  readonly script: Uint8Array;
  readonly descriptor: number;
  readonly position: number;
  /** The script's own descriptor; null before the script was given out or paid. */
  readonly solved: string | null;
  readonly used: boolean;
}

/** A script with its descriptor and index. */
export type PlacedScript = Pick<ScriptRecord, 'script' | 'descriptor' | 'position'>;

/** Read in about a millisecond. */
const SCRIPTS_PAGE = 1000;
/** Table of key rows that will replace those of the file. */
export const STAGED_KEYS = 'temp.staged_keys';
/** Decrypted in a few milliseconds. */
const KEYS_PAGE = 32;

interface DescriptorRow {
  id: number;
  key: Uint8Array;
  text: string;
  normalized: string;
  output_type: string | null;
  created_at: number;
  range_start: number;
  range_end: number;
  next_index: number;
  filled: number;
  active: string | null;
  internal: number | null;
}

interface ScriptRow {
  script: Uint8Array;
  descriptor: number;
  position: number;
  solved: string | null;
  used: number;
}

function descriptorRecord(row: DescriptorRow): DescriptorRecord {
  return {
    id: row.id,
    key: row.key,
    text: row.text,
    normalized: row.normalized,
    outputType: row.output_type,
    createdAt: row.created_at,
    rangeStart: row.range_start,
    rangeEnd: row.range_end,
    nextIndex: row.next_index,
    filled: row.filled,
    active: row.active,
    internal: row.internal === null ? null : row.internal === 1,
  };
}

/** Read access to the descriptors and scripts of a wallet. */
export class WalletKeyReads {
  readonly #descriptors;
  readonly #scripts;

  constructor(db: Database) {
    this.#descriptors = db.prepare<DescriptorRow, []>('SELECT * FROM descriptors ORDER BY id');
    this.#scripts = db.prepare<ScriptRow, [Uint8Array]>('SELECT * FROM scripts WHERE script = ? ORDER BY descriptor');
  }

  descriptors(): DescriptorRecord[] {
    return this.#descriptors.all().map(descriptorRecord);
  }

  /** Returns nothing where the script is not the wallet's. */
  scripts(script: Uint8Array): ScriptRecord[] {
    return this.#scripts.all(script).map((row) => ({ ...row, used: row.used === 1 }));
  }
}

/** Write access to descriptors, scripts and private keys. */
export class WalletKeyStore extends WalletKeyReads {
  /** Descriptors that the transaction has written with their derived keys; wallets keep them in memory as well. */
  readonly changedDescriptors = new Set<number>();
  /** Private keys that the transaction has written, by hex id. */
  readonly changedKeys = new Set<string>();
  /** Increases with each change of rows that the master key seals, except the id of the vouching key. */
  sealedRevision = 0;
  /** Runs work inside a transaction of the wallet. */
  atomically: (work: () => void) => void = (work) => work();
  readonly #db: Database;
  readonly #addScript;
  readonly #solve;
  readonly #use;
  readonly #upsert;
  readonly #scriptPage;
  readonly #key;

  constructor(db: Database) {
    super(db);
    this.#db = db;
    this.#addScript = db.prepare('INSERT OR IGNORE INTO scripts (script, descriptor, position) VALUES (?, ?, ?)');
    this.#scriptPage = db.prepare<PlacedScript, [Uint8Array, number, number]>(
      `SELECT script, descriptor, position FROM scripts WHERE (script, descriptor) > (?, ?)
       ORDER BY script, descriptor LIMIT ?`,
    );
    this.#key = db.prepare<{ id: Uint8Array; compressed: number; data: Uint8Array }, [Uint8Array]>(
      'SELECT * FROM keys WHERE id = ?',
    );
    this.#solve = db.prepare('UPDATE scripts SET solved = ? WHERE script = ?');
    this.#use = db.prepare('UPDATE scripts SET used = 1 WHERE script = ?');
    this.#upsert = db.prepare<{ id: number }, (Uint8Array | string | number | null)[]>(
      `INSERT INTO descriptors (key, text, normalized, output_type, created_at, range_start, range_end, next_index,
         filled, active, internal) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET created_at = excluded.created_at, range_start = excluded.range_start,
         range_end = excluded.range_end, next_index = excluded.next_index, filled = excluded.filled,
         normalized = excluded.normalized, active = excluded.active, internal = excluded.internal
       RETURNING id`,
    );
  }

  /** Adds a descriptor, or changes the one with its key. Returns its id. */
  storeDescriptor(record: Omit<DescriptorRecord, 'id'>, { onlyRange = false } = {}): number {
    const { key, text, normalized, outputType, createdAt, rangeStart, rangeEnd, nextIndex, filled } = record;
    const internal = record.internal === null ? null : Number(record.internal);
    const { id } = this.#upsert.get(
      ...[key, text, normalized, outputType, createdAt, rangeStart, rangeEnd, nextIndex, filled],
      ...[record.active, internal],
    )!;
    this.changedDescriptors.add(id);
    if (!onlyRange) this.sealedRevision++;
    return id;
  }

  /** Changes the text of a descriptor to another one of the same scripts. */
  renameDescriptor(id: number, key: Uint8Array, text: string): void {
    this.sealedRevision++;
    this.#db.query('UPDATE descriptors SET key = ?, text = ? WHERE id = ?').run(key, text, id);
  }

  /** Removes a descriptor, and its scripts unless another descriptor has them. */
  removeDescriptor(id: number): void {
    this.sealedRevision++;
    for (const [table, column] of [
      ['scripts', 'descriptor'],
      ['descriptor_cache', 'descriptor'],
      ['descriptors', 'id'],
    ])
      this.#db.query(`DELETE FROM ${table} WHERE ${column} = ?`).run(id);
  }

  addScript(script: Uint8Array, descriptor: number, position: number): void {
    this.#addScript.run(script, descriptor, position);
  }

  setSolved(script: Uint8Array, solved: string): void {
    this.#solve.run(solved, script);
  }

  /** Marks the script as spent from. */
  setUsed(script: Uint8Array): void {
    this.#use.run(script);
  }

  /** All scripts, unordered. */
  *allScripts(): Generator<Uint8Array> {
    for (const { script } of this.#db.query<{ script: Uint8Array }, []>('SELECT script FROM scripts').iterate())
      yield script;
  }

  /** All scripts in pages; the file may be written between two pages. */
  *scriptPages(): Generator<readonly PlacedScript[]> {
    let last: PlacedScript = { script: new Uint8Array(0), descriptor: 0, position: 0 };
    for (;;) {
      const page = this.#scriptPage.all(last.script, last.descriptor, SCRIPTS_PAGE);
      yield page;
      if (page.length < SCRIPTS_PAGE) return;
      last = page.at(-1)!;
    }
  }

  /** Returns some scripts in the order of scripts and descriptors, after a given one. */
  scriptsAfter(
    { script, descriptor }: Pick<ScriptRecord, 'script' | 'descriptor'>,
    count: number,
  ): Pick<ScriptRecord, 'script' | 'descriptor' | 'position'>[] {
    return this.#db
      .query<Pick<ScriptRecord, 'script' | 'descriptor' | 'position'>, [Uint8Array, number, number]>(
        `SELECT script, descriptor, position FROM scripts WHERE (script, descriptor) > (?, ?)
         ORDER BY script, descriptor LIMIT ?`,
      )
      .all(script, descriptor, count);
  }

  /** Returns null for an unknown id. */
  descriptor(id: number): DescriptorRecord | null {
    const row = this.#db.query<DescriptorRow, [number]>('SELECT * FROM descriptors WHERE id = ?').get(id);
    return row && descriptorRecord(row);
  }

  /** All descriptors by id, each read on demand. */
  *descriptorsInOrder(): Generator<DescriptorRecord> {
    const next = this.#db.query<DescriptorRow, [number]>('SELECT * FROM descriptors WHERE id > ? ORDER BY id LIMIT 1');
    for (let row = next.get(-1); row; row = next.get(row.id)) yield descriptorRecord(row);
  }

  /** Whether there is a private key, sealed or not. */
  hasKeys(): boolean {
    return this.#db.query('SELECT 1 FROM keys LIMIT 1').get() !== null;
  }

  cache(descriptor: number): CacheRecord[] {
    return this.#db
      .query<CacheRecord, [number]>('SELECT kind, expression, position, key FROM descriptor_cache WHERE descriptor = ?')
      .all(descriptor);
  }

  addCache(descriptor: number, { kind, expression, position, key }: CacheRecord): void {
    this.changedDescriptors.add(descriptor);
    this.sealedRevision++;
    this.#db
      .query('INSERT INTO descriptor_cache (descriptor, kind, expression, position, key) VALUES (?, ?, ?, ?, ?)')
      .run(descriptor, kind, expression, position, key);
  }

  keys(): StoredKey[] {
    return [...this.keysInOrder()].flat();
  }

  /** All private keys in pages; the file may be written between two pages. */
  *keysInOrder(): Generator<StoredKey[]> {
    const page = this.#db.query<{ id: Uint8Array; compressed: number; data: Uint8Array }, [Uint8Array]>(
      `SELECT * FROM keys WHERE id > ? ORDER BY id LIMIT ${KEYS_PAGE}`,
    );
    let last: Uint8Array = new Uint8Array(0);
    for (;;) {
      const rows = page.all(last);
      yield rows.map((row) => ({ ...row, compressed: row.compressed === 1 }));
      if (rows.length < KEYS_PAGE) return;
      last = rows.at(-1)!.id;
    }
  }

  /** Returns null for an unknown id. */
  key(id: Uint8Array): StoredKey | null {
    const row = this.#key.get(id);
    return row && { ...row, compressed: row.compressed === 1 };
  }

  hasKey(id: Uint8Array): boolean {
    return this.#db.query('SELECT 1 FROM keys WHERE id = ?').get(id) !== null;
  }

  storeKey({ id, compressed, data }: StoredKey): void {
    this.changedKeys.add(id.toHex());
    this.sealedRevision++;
    this.#db.query('INSERT OR REPLACE INTO keys VALUES (?, ?, ?)').run(id, Number(compressed), data);
  }

  /** Prepares the data of a key; `storeStagedKeys` writes that of all keys at once. */
  stageKey({ id, compressed, data }: StoredKey): void {
    this.#db.query(`INSERT OR REPLACE INTO ${STAGED_KEYS} VALUES (?, ?, ?)`).run(id, Number(compressed), data);
  }

  /**
   * Replaces all keys by the staged ones, inside the caller's transaction. The whole table is emptied first: with
   * secure_delete SQLite then overwrites all its pages, among them the copies of rows that it left in unused parts of
   * pages when it moved rows. Throws unless each key is staged.
   */
  storeStagedKeys(): void {
    const notStaged = `SELECT id, compressed FROM main.keys EXCEPT SELECT id, compressed FROM ${STAGED_KEYS}`;
    assert(this.#db.query(notStaged).get() === null, 'all keys are staged');
    this.sealedRevision++;
    // Without a condition and without triggers: only then whole pages are overwritten.
    this.#db.run('DELETE FROM main.keys');
    this.#db.run(`INSERT INTO main.keys SELECT id, compressed, data FROM ${STAGED_KEYS} ORDER BY id`);
  }

  /** Empties the table of staged keys, which is in memory. */
  clearStagedKeys(): void {
    this.#db.run(
      `CREATE TEMP TABLE IF NOT EXISTS staged_keys (id BLOB PRIMARY KEY, compressed INTEGER NOT NULL, data BLOB NOT NULL)
       WITHOUT ROWID`,
    );
    this.#db.run(`DELETE FROM ${STAGED_KEYS}`);
  }
}
