import type { Database } from 'bun:sqlite';
import { timingSafeEqual } from 'node:crypto';
import { sleep } from '../../util/abort.ts';
import { isHex } from '../../util/bytes.ts';
import { COVERED_ROWS, COVERED_VERSION, noteChanges, selectCovered } from './covered-rows.ts';
import { RowMac, RowSum, type StoredRowMac } from './row-mac.ts';
import { openWalletReader } from './wallet-database.ts';
import { STAGED_KEYS } from './wallet-keys-store.ts';
import { raiseSchema, SEALED_WALLET_SCHEMA_VERSION } from './wallet-schema.ts';

/** A MAC of the file with the id of its key. */
interface Seal extends StoredRowMac {
  readonly key: string;
}

/** `absent`: no MAC, or one of another key. `interrupted`: the key was wiped in between. */
export type SealState = 'valid' | 'invalid' | 'absent' | 'interrupted';

type SealName = 'nodeMac' | 'masterMac';

interface ChangedRow {
  readonly name: string;
  readonly sign: 1 | -1;
  readonly row: string;
}

/** Rows that are hashed in one slice, a few milliseconds. */
const SLICE_ROWS = 500;
/** Attempts to compute a MAC; a failed write spoils an attempt. */
const MAX_ATTEMPTS = 3;
const SUM_SIZE = 32;
const CONTEXT = `obverse wallet rows, version ${COVERED_VERSION}`;

const KEYS = COVERED_ROWS.find(({ name }) => name === 'keys')!;
const SEALED = new Set(COVERED_ROWS.filter(({ sealed }) => sealed).map(({ name }) => name));

/**
 * The two MACs over the rows of an encrypted wallet: one by a key of the node over all covered rows, and one by a key
 * derived from the wallet's master key over the rows that change only while it is unlocked. Both are updated in the
 * transaction that changes the rows, by adding the changes, so that an invalid MAC stays invalid.
 */
export class WalletSeals {
  readonly #db: Database;
  readonly #path: string;
  #node: RowMac | null = null;
  #master: RowMac | null = null;
  #noting = false;
  /** Changes since the snapshot over which a new MAC of the node is computed. */
  #building: { readonly changed: RowSum; spoilt: boolean } | null = null;

  constructor(db: Database, path: string) {
    this.#db = db;
    this.#path = path;
  }

  /** Tracks changes of rows from now on. `context` is bound into the MAC of the node. */
  follow(nodeKey: Uint8Array, context: string): void {
    this.#node ??= new RowMac(nodeKey, `${CONTEXT}, node: ${context}`);
    if (this.#noting) return;
    noteChanges(this.#db);
    this.#noting = true;
  }

  /** Opens the MAC of the master key; null closes it. */
  useMasterKey(masterKey: Uint8Array | null): void {
    this.#master?.wipe();
    this.#master = masterKey && new RowMac(masterKey, `${CONTEXT}, master key`);
  }

  /** Computes the MAC of a master key over the current rows, inside the caller's transaction. */
  sealWith(masterKey: Uint8Array): void {
    const mac = new RowMac(masterKey, `${CONTEXT}, master key`);
    try {
      // Changes that were recorded before are part of the sum.
      this.#settleNode();
      const sum = new RowSum();
      for (const covered of COVERED_ROWS)
        if (covered.sealed)
          for (const { row } of this.#db.query<{ row: string }, []>(selectCovered(covered)).iterate())
            mac.add(sum, row);
      this.#storeMac('masterMac', mac, sum);
      raiseSchema(this.#db, SEALED_WALLET_SCHEMA_VERSION);
    } finally {
      mac.wipe();
    }
  }

  /**
   * Sums the rows for the MAC of a master key in slices, with the staged keys in place of the stored ones, in the state
   * of the file at the time of the call. `sealStaged` writes the MAC.
   */
  async sumStaged(masterKey: Uint8Array, signal: AbortSignal): Promise<RowSum> {
    const mac = new RowMac(masterKey, `${CONTEXT}, master key`);
    try {
      const { sum } = await this.#read('masterMac', mac, (name) => SEALED.has(name) && name !== KEYS.name, signal);
      let rows = 0;
      for (const { row } of this.#db.query<{ row: string }, []>(selectCovered(KEYS, STAGED_KEYS)).iterate()) {
        mac.add(sum, row);
        if (++rows % SLICE_ROWS === 0) await sleep(0, signal);
      }
      return sum;
    } finally {
      mac.wipe();
    }
  }

  /** Writes the MAC of a master key from the sum of its rows, inside the caller's transaction. */
  sealStaged(masterKey: Uint8Array, sum: RowSum): void {
    const mac = new RowMac(masterKey, `${CONTEXT}, master key`);
    try {
      this.#storeMac('masterMac', mac, sum);
      raiseSchema(this.#db, SEALED_WALLET_SCHEMA_VERSION);
    } finally {
      mac.wipe();
    }
  }

  /** Updates the MACs at the end of each transaction. */
  settle(): void {
    if (!this.#noting) return;
    const sealed = this.#settleNode();
    if (sealed.length === 0) return;
    const stored = readSeal(this.#db, 'masterMac');
    if (stored === null) return;
    if (!this.#master) throw new Error('keys and descriptors of a locked wallet cannot be changed');
    const sum = this.#master.reveal(stored);
    for (const { row, sign } of sealed) this.#master.add(sum, row, sign);
    this.#storeMac('masterMac', this.#master, sum);
  }

  /** Notes that a transaction failed after or during `settle`. */
  rolledBack(): void {
    if (this.#building) this.#building.spoilt = true;
  }

  /** Compares the rows with the MAC of the node, in slices. */
  checkNode(signal: AbortSignal): Promise<SealState> {
    return this.#check('nodeMac', this.#node, () => true, signal);
  }

  /** Compares the rows with the MAC of the master key, which must be open, in slices. */
  checkMaster(signal: AbortSignal): Promise<SealState> {
    return this.#check('masterMac', this.#master, (name) => SEALED.has(name), signal);
  }

  /**
   * Whether this node vouched last. The MAC of the master key covers the entry, so that the node's MAC cannot be
   * removed unnoticed.
   */
  get vouchedByThisNode(): boolean {
    return this.#node !== null && readText(this.#db, 'vouchedBy') === this.#node.id;
  }

  /**
   * Computes the MAC of the node over the current rows, which must have been checked. Returns false where the master
   * key is no longer open, so that this cannot be recorded.
   */
  async vouch(signal: AbortSignal): Promise<boolean> {
    const mac = this.#node;
    if (!mac || this.#building) return false;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const building = { changed: new RowSum(), spoilt: false };
      this.#building = building;
      try {
        const { sum } = await this.#read('nodeMac', mac, () => true, signal);
        if (building.spoilt) continue;
        if (!this.#master) return false;
        this.#db
          .transaction(() => {
            this.#set('vouchedBy', mac.id);
            this.settle();
            sum.add(building.changed.bytes(), 1);
            this.#storeMac('nodeMac', mac, sum);
          })
          .immediate();
        return true;
      } finally {
        this.#building = null;
      }
    }
    throw new Error('the rows of a wallet changed in failing transactions while their MAC was made');
  }

  close(): void {
    this.useMasterKey(null);
    this.#node?.wipe();
    this.#node = null;
    this.#noting = false;
  }

  async #check(
    name: SealName,
    mac: RowMac | null,
    covers: (rows: string) => boolean,
    signal: AbortSignal,
  ): Promise<SealState> {
    if (!mac) return 'absent';
    const { stored, sum } = await this.#read(name, mac, covers, signal);
    if (mac.wiped) return 'interrupted';
    if (stored === 'malformed') return 'invalid';
    if (stored === null || stored.key !== mac.id) return 'absent';
    return timingSafeEqual(mac.reveal(stored).bytes(), sum.bytes()) ? 'valid' : 'invalid';
  }

  /** Returns the sum of the rows and the stored MAC in the state of the file at the time of the call. */
  async #read(
    name: SealName,
    mac: RowMac,
    covers: (rows: string) => boolean,
    signal: AbortSignal,
  ): Promise<{ sum: RowSum; stored: Seal | 'malformed' | null }> {
    const reader = openWalletReader(this.#path);
    try {
      reader.run('BEGIN');
      const stored = readSeal(reader, name, 'malformed');
      const sum = new RowSum();
      let rows = 0;
      for (const covered of COVERED_ROWS) {
        if (!covers(covered.name)) continue;
        for (const { row } of reader.query<{ row: string }, []>(selectCovered(covered)).iterate()) {
          mac.add(sum, row);
          if (++rows % SLICE_ROWS === 0) await sleep(0, signal);
        }
      }
      return { sum, stored };
    } finally {
      reader.close();
    }
  }

  /** Adds the recorded changes to the MAC of the node; returns those that concern the other MAC. */
  #settleNode(): ChangedRow[] {
    if (!this.#noting) return [];
    const changes = this.#db.query<ChangedRow, []>('SELECT name, sign, row FROM temp.changed_rows').all();
    if (changes.length === 0) return [];
    this.#db.run('DELETE FROM temp.changed_rows');
    const mac = this.#node;
    if (mac) {
      const changed = new RowSum();
      for (const { row, sign } of changes) mac.add(changed, row, sign);
      this.#building?.changed.add(changed.bytes(), 1);
      const stored = readSeal(this.#db, 'nodeMac');
      if (stored?.key === mac.id) {
        const sum = mac.reveal(stored);
        sum.add(changed.bytes(), 1);
        this.#storeMac('nodeMac', mac, sum);
      }
    }
    return changes.filter(({ name }) => SEALED.has(name));
  }

  #storeMac(name: SealName, mac: RowMac, sum: RowSum): void {
    const seal: Seal = { key: mac.id, ...mac.conceal(sum) };
    this.#set(name, JSON.stringify(seal));
  }

  #set(key: string, value: string | number): void {
    this.#db.query('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)').run(key, value);
  }
}

function readText(db: Database, key: string): string | null {
  const row = db.query<{ value: unknown }, [string]>('SELECT value FROM meta WHERE key = ?').get(key);
  return row && String(row.value);
}

/** Returns null where there is no MAC, and `ifMalformed` for one that cannot be read. */
function readSeal(db: Database, name: SealName): Seal | null;
function readSeal<T>(db: Database, name: SealName, ifMalformed: T): Seal | T | null;
function readSeal<T>(db: Database, name: SealName, ifMalformed: T | null = null): Seal | T | null {
  const text = readText(db, name);
  if (text === null) return null;
  try {
    const seal = JSON.parse(text) as Partial<Record<keyof Seal, unknown>>;
    const { key, nonce, sum } = seal;
    if (typeof key === 'string' && isHash(nonce) && isHash(sum)) return { key, nonce, sum };
    return ifMalformed;
  } catch {
    return ifMalformed;
  }
}

function isHash(value: unknown): value is string {
  return typeof value === 'string' && value.length === 2 * SUM_SIZE && isHex(value);
}
