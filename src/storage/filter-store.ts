import type { Database } from 'bun:sqlite';
import { existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { hash256 } from '../crypto/hash-functions.ts';
import type { Hash } from '../primitives/hash.ts';
import { DecodeError, equalBytes } from '../util/bytes.ts';
import { type FilePosition, RecordReader, RecordWriter, recordFileName } from './block-files.ts';
import { durably } from './database.ts';
import { MetaStore, MetaWriter } from './meta-store.ts';

/** The row of a block filter. */
export interface FilterRecord {
  readonly hash: Hash<'filter'>;
  /** Filter header (BIP-157). */
  readonly header: Hash<'filter-header'>;
  readonly position: FilePosition;
}

interface FilterRow {
  hash: Uint8Array;
  header: Uint8Array;
  file: number;
  offset: number;
  size: number;
}

/** Folder within the chain's; an operator may remove it while the node is stopped. */
const FOLDER = 'filters';

/** Read access to block filters: rows by the id of the block header, bytes in files. */
export class FilterStore {
  readonly #get;
  readonly #has;
  readonly #hasAtHeight;
  readonly #files: RecordReader;

  /** `dir` is the folder of the chain. */
  constructor(db: Database, dir: string) {
    this.#get = db.prepare<FilterRow, [number]>(
      'SELECT hash, header, file, offset, size FROM filters WHERE header_id = ?',
    );
    this.#has = db.prepare<{ found: number }, [number]>('SELECT 1 AS found FROM filters WHERE header_id = ?');
    this.#hasAtHeight = db.prepare<{ found: number }, [number]>(
      'SELECT 1 AS found FROM chain c JOIN filters f ON f.header_id = c.header_id WHERE c.height = ?',
    );
    this.#files = new RecordReader(join(dir, FOLDER), 'flt');
  }

  get(headerId: number): FilterRecord | null {
    const row = this.#get.get(headerId);
    if (!row) return null;
    const { hash, header, file, offset, size } = row;
    return {
      hash: hash as FilterRecord['hash'],
      header: header as FilterRecord['header'],
      position: { file, offset, size },
    };
  }

  has(headerId: number): boolean {
    return this.#has.get(headerId) !== null;
  }

  /** Height up to which the active chain with this tip has filters; -1 if it has none. */
  coveredHeight(tipHeight: number): number {
    if (this.#hasAtHeight.get(tipHeight) !== null) return tipHeight;
    // Binary search: all ancestors of a block with a filter have theirs.
    let covered = -1;
    let open = tipHeight;
    while (open - covered > 1) {
      const middle = (covered + open) >> 1;
      if (this.#hasAtHeight.get(middle) !== null) covered = middle;
      else open = middle;
    }
    return covered;
  }

  /** Returns the encoded filter. Throws if the files are damaged or missing. */
  bytes({ hash, position }: FilterRecord): Uint8Array {
    const filter = this.#files.read(position);
    if (!equalBytes(hash256(filter), hash))
      throw new DecodeError(`a block filter in flt file ${position.file} is damaged`);
    return filter;
  }

  close(): void {
    this.#files.close();
  }
}

/** Write access to block filters for the single writer. Appended filters can be read after `insert` is committed. */
export class FilterWriter {
  /** Whether files were missing to which rows referred; the rows were removed then. */
  readonly lost: boolean;
  readonly #insert;
  readonly #meta: MetaWriter;
  readonly #files: RecordWriter;
  #pending: (FilterRecord & { readonly headerId: number })[] = [];
  #pendingBytes = 0;

  constructor(db: Database, dir: string, magic: number) {
    const folder = join(dir, FOLDER);
    const read = new MetaStore(db);
    let end = { file: read.get('filterFile') ?? 0, length: read.get('filterEnd') ?? 0 };
    this.#meta = new MetaWriter(db);
    this.lost = !hasFiles(folder, end);
    if (this.lost) {
      end = { file: 0, length: 0 };
      // The rows go first, durably: new files will hold other bytes at the positions to which they refer.
      durably(
        db,
        db.transaction(() => {
          db.run('DELETE FROM filters');
          this.#putEnd(end);
        }),
      );
      rmSync(folder, { recursive: true, force: true });
    }
    this.#files = new RecordWriter(folder, 'flt', magic, end);
    this.#insert = db.prepare(
      'INSERT INTO filters (header_id, hash, header, file, offset, size) VALUES (?, ?, ?, ?, ?, ?)',
    );
  }

  /** Bytes of appended filters without a row. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  get pending(): number {
    return this.#pending.length;
  }

  append(headerId: number, filter: Uint8Array, hash: FilterRecord['hash'], header: FilterRecord['header']): void {
    const position = this.#files.append(filter);
    this.#pending.push({ headerId, hash, header, position });
    this.#pendingBytes += filter.length;
  }

  /** Makes the appended bytes durable. Must be called before the transaction of `insert`. */
  sync(): void {
    this.#files.sync();
  }

  /** Inserts the rows of the appended filters, within a transaction. */
  insert(): void {
    if (this.#pending.length === 0) return;
    for (const { headerId, hash, header, position } of this.#pending)
      this.#insert.run(headerId, hash, header, position.file, position.offset, position.size);
    this.#putEnd(this.#files.end);
  }

  /** Forgets the appended filters: their rows are committed, or the filters are dropped. */
  clear(): void {
    this.#pending = [];
    this.#pendingBytes = 0;
  }

  close(): void {
    this.#files.close();
  }

  #putEnd({ file, length }: { file: number; length: number }): void {
    this.#meta.put('filterFile', file);
    this.#meta.put('filterEnd', length);
  }
}

function hasFiles(folder: string, { file, length }: { file: number; length: number }): boolean {
  if (length === 0) return true;
  for (let n = 0; n < file; n++) if (!existsSync(recordFileName(folder, 'flt', n))) return false;
  const last = recordFileName(folder, 'flt', file);
  return existsSync(last) && statSync(last).size >= length;
}
