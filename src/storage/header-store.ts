import type { Database } from 'bun:sqlite';
import type { BlockHash } from '../primitives/hash.ts';
import type { FilePosition } from './block-files.ts';
import { BlockSumPages } from './block-sum-pages.ts';
import { HeaderStatus } from './chain-schema.ts';

/** Figures that follow from a block's body; present if the body is stored, or was stored and has been pruned. */
export interface BodyStats {
  readonly txCount: number;
  /** Bytes of the encoded block. */
  readonly size: number;
  readonly strippedSize: number;
  /** Number of inputs of all transactions except the coinbase; `outputs` counts all transactions. */
  readonly inputs: number;
  readonly outputs: number;
  /** Sum of the outputs of all transactions except the coinbase, satoshis. */
  readonly valueOut: number;
  /** Sum of the coinbase's outputs, satoshis. */
  readonly reward: number;
}

export interface HeaderRecord {
  readonly id: number;
  readonly hash: BlockHash;
  /** The encoded header, 80 bytes. */
  readonly header: Uint8Array;
  readonly height: number;
  readonly chainwork: bigint;
  /** Bits of HeaderStatus. */
  readonly status: number;
  /** Time at which the body arrived, Unix seconds; null if it never did. */
  readonly receivedAt: number | null;
  /** Null if the body is not stored. It has been pruned if `stats` are present. */
  readonly body: FilePosition | null;
  /** Null if the undo data is not stored. It has been pruned if `fees` are present. */
  readonly undo: FilePosition | null;
  readonly stats: BodyStats | null;
  /** Sum of the fees, satoshis; null if the block was never connected. */
  readonly fees: number | null;
}

interface HeaderRow {
  id: number;
  hash: Uint8Array;
  header: Uint8Array;
  height: number;
  chainwork: Uint8Array;
  status: number;
  received_at: number | null;
  file: number | null;
  offset: number | null;
  size: number | null;
  undo_file: number | null;
  undo_offset: number | null;
  undo_size: number | null;
  tx_count: number | null;
  stripped_size: number | null;
  inputs: number | null;
  outputs: number | null;
  value_out: number | null;
  reward: number | null;
  fees: number | null;
}

/** Encodes chainwork as 32 bytes big-endian, so that rows sort by it. */
function chainworkBytes(work: bigint): Uint8Array {
  return Uint8Array.fromHex(work.toString(16).padStart(64, '0'));
}

function filePosition(file: number | null, offset: number | null, size: number | null): FilePosition | null {
  return file === null || offset === null || size === null ? null : { file, offset, size };
}

function fromRow(row: HeaderRow): HeaderRecord {
  return {
    id: row.id,
    hash: row.hash as BlockHash,
    header: row.header,
    height: row.height,
    chainwork: BigInt(`0x${row.chainwork.toHex()}`),
    status: row.status,
    receivedAt: row.received_at,
    body: filePosition(row.file, row.offset, row.size),
    undo: filePosition(row.undo_file, row.undo_offset, row.undo_size),
    stats:
      row.tx_count === null
        ? null
        : {
            txCount: row.tx_count,
            size: row.size!,
            strippedSize: row.stripped_size!,
            inputs: row.inputs!,
            outputs: row.outputs!,
            valueOut: row.value_out!,
            reward: row.reward!,
          },
    fees: row.fees,
  };
}

/** Totals of the active chain up to a block. */
export interface ChainTotals {
  /** Value of the UTXO set, satoshis. */
  readonly circulating: number;
  readonly utxos: number;
  /** Number of transactions up to this block, the genesis coinbase included. */
  readonly txs: number;
}

/** Number of blocks in the median time past. */
const MEDIAN_SPAN = 11;

/** Returns the median of some times. */
export function medianOf(times: number[]): number {
  times.sort((a, b) => a - b);
  return times[times.length >> 1]!;
}

/** Number of transactions of a block of the active chain that is not validated yet. */
const UNKNOWN_TXS = -1;

/** Read access to headers and the active chain. */
export class HeaderStore {
  readonly #byHash;
  readonly #byHeight;
  readonly #all;
  readonly #activeId;
  readonly #tip;
  readonly #totals;
  readonly #range;
  readonly #times;
  readonly #bodyEnd;
  readonly #undoEnd;
  /** Sums over ranges of blocks. */
  readonly sumPages: BlockSumPages;

  constructor(db: Database) {
    this.sumPages = new BlockSumPages(db);
    this.#byHash = db.prepare<HeaderRow, [Uint8Array]>('SELECT * FROM headers WHERE hash = ?');
    this.#byHeight = db.prepare<HeaderRow, [number]>(
      'SELECT h.* FROM chain c JOIN headers h ON h.id = c.header_id WHERE c.height = ?',
    );
    this.#all = db.prepare<HeaderRow, []>('SELECT * FROM headers ORDER BY id');
    this.#activeId = db.prepare<{ header_id: number }, [number]>('SELECT header_id FROM chain WHERE height = ?');
    this.#tip = db.prepare<HeaderRow, []>(
      'SELECT h.* FROM chain c JOIN headers h ON h.id = c.header_id ORDER BY c.height DESC LIMIT 1',
    );
    this.#totals = db.prepare<ChainTotals, [number]>('SELECT circulating, utxos, txs FROM chain WHERE height = ?');
    this.#range = db.prepare<HeaderRow, [number, number]>(
      'SELECT h.* FROM chain c JOIN headers h ON h.id = c.header_id WHERE c.height >= ? ORDER BY c.height LIMIT ?',
    );
    // One text for all rows, since a row with all its columns takes five microseconds.
    this.#times = db.prepare<{ times: string | null }, [number, number]>(
      `SELECT group_concat(hex(substr(h.header, 69, 4)), '') AS times
       FROM chain c JOIN headers h ON h.id = c.header_id WHERE c.height >= ? AND c.height < ?`,
    );
    this.#bodyEnd = db.prepare<{ file: number | null; length: number | null }, []>(
      `SELECT max(file) AS file, max(offset + size) AS length FROM headers
       WHERE file = (SELECT max(file) FROM headers)`,
    );
    this.#undoEnd = db.prepare<{ file: number | null; length: number | null }, []>(
      `SELECT max(undo_file) AS file, max(undo_offset + undo_size) AS length FROM headers
       WHERE undo_file = (SELECT max(undo_file) FROM headers)`,
    );
  }

  byHash(hash: Uint8Array): HeaderRecord | null {
    const row = this.#byHash.get(hash);
    return row && fromRow(row);
  }

  /** Returns the header of the active chain at a height, or null. */
  byHeight(height: number): HeaderRecord | null {
    const row = this.#byHeight.get(height);
    return row && fromRow(row);
  }

  /** Returns headers of the active chain from a height upwards. */
  range(from: number, limit: number): HeaderRecord[] {
    return this.#range.all(from, limit).map(fromRow);
  }

  /** Returns the times of `count` headers of the active chain from a height upwards, in no order. */
  times(from: number, count: number): number[] {
    const times = this.#times.get(from, from + count)?.times ?? '';
    const bytes = Buffer.from(times, 'hex');
    return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readUInt32LE(4 * i));
  }

  /** Returns the median of the times of the block of the active chain at a height and the ten before it, Unix seconds. */
  medianTime(height: number): number {
    const from = Math.max(0, height - MEDIAN_SPAN + 1);
    return medianOf(this.times(from, height - from + 1));
  }

  /** Yields all headers, parents first. */
  *all(): Generator<HeaderRecord> {
    for (const row of this.#all.iterate()) yield fromRow(row);
  }

  tip(): HeaderRecord | null {
    const row = this.#tip.get();
    return row && fromRow(row);
  }

  isActive({ id, height }: HeaderRecord): boolean {
    return this.#activeId.get(height)?.header_id === id;
  }

  /** Returns the end of the last record that any row refers to. */
  fileEnd(kind: 'body' | 'undo'): { file: number; length: number } {
    const row = (kind === 'body' ? this.#bodyEnd : this.#undoEnd).get()!;
    return { file: row.file ?? 0, length: row.length ?? 0 };
  }

  /** Returns null above the tip, and for blocks whose validation behind a loaded UTXO set is still to come. */
  totals(height: number): ChainTotals | null {
    const totals = this.#totals.get(height);
    return totals === null || totals.txs === UNKNOWN_TXS ? null : totals;
  }
}

/**
 * Bits that say which records are stored. They are set only together with the position of the record: a body may arrive
 * after a commit is sealed and before it is made, and belongs to the next one.
 */
const IN_FILES = HeaderStatus.HAVE_BLOCK | HeaderStatus.HAVE_UNDO;
/** Bits that are not stored, since they follow from the columns of a row. */
const FROM_COLUMNS = HeaderStatus.HAD_BLOCK | HeaderStatus.HAD_UNDO;

/** Write access to headers and the active chain for the single writer, within its transaction. */
export class HeaderWriter {
  readonly #insert;
  readonly #setBody;
  readonly #setUndo;
  readonly #clearBody;
  readonly #clearUndo;
  readonly #setStatus;
  readonly #extend;
  readonly #setTotals;
  readonly #cut;

  constructor(db: Database) {
    this.#insert = db.prepare(
      'INSERT INTO headers (id, hash, header, height, chainwork, status) VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.#setBody = db.prepare(
      `UPDATE headers SET received_at = ?, file = ?, offset = ?, size = ?, tx_count = ?, stripped_size = ?, inputs = ?,
         outputs = ?, value_out = ?, reward = ?, status = status | ${HeaderStatus.HAVE_BLOCK} WHERE id = ?`,
    );
    this.#setUndo = db.prepare(
      `UPDATE headers SET undo_file = ?, undo_offset = ?, undo_size = ?, fees = ?,
         status = status | ${HeaderStatus.HAVE_UNDO} WHERE id = ?`,
    );
    // The size stays, as one of the figures of the block.
    this.#clearBody = db.prepare(
      `UPDATE headers SET file = NULL, offset = NULL, status = status & ~${HeaderStatus.HAVE_BLOCK} WHERE id = ?`,
    );
    this.#clearUndo = db.prepare(
      `UPDATE headers SET undo_file = NULL, undo_offset = NULL, undo_size = NULL,
         status = status & ~${HeaderStatus.HAVE_UNDO} WHERE id = ?`,
    );
    this.#setStatus = db.prepare(`UPDATE headers SET status = (status & ${IN_FILES}) | ? WHERE id = ?`);
    this.#extend = db.prepare('INSERT INTO chain (height, header_id, circulating, utxos, txs) VALUES (?, ?, ?, ?, ?)');
    this.#setTotals = db.prepare(
      'UPDATE chain SET circulating = ?, utxos = ?, txs = ? WHERE height = ? AND header_id = ?',
    );
    this.#cut = db.prepare('DELETE FROM chain WHERE height > ?');
  }

  insert(record: Pick<HeaderRecord, 'id' | 'hash' | 'header' | 'height' | 'chainwork' | 'status'>): void {
    const { id, hash, header, height, chainwork, status } = record;
    this.#insert.run(id, hash, header, height, chainworkBytes(chainwork), status & ~(IN_FILES | FROM_COLUMNS));
  }

  setBody(id: number, receivedAt: number, { file, offset, size }: FilePosition, stats: BodyStats): void {
    const { txCount, strippedSize, inputs, outputs, valueOut, reward } = stats;
    this.#setBody.run(receivedAt, file, offset, size, txCount, strippedSize, inputs, outputs, valueOut, reward, id);
  }

  setUndo(id: number, { file, offset, size }: FilePosition, fees: number): void {
    this.#setUndo.run(file, offset, size, fees, id);
  }

  /** Removes the position of a body; its figures stay. */
  clearBody(id: number): void {
    this.#clearBody.run(id);
  }

  /** Removes the position of undo data; the fees stay. */
  clearUndo(id: number): void {
    this.#clearUndo.run(id);
  }

  setStatus(id: number, status: number): void {
    this.#setStatus.run(status & ~(IN_FILES | FROM_COLUMNS), id);
  }

  /** Removes the active chain above a height. */
  cutAbove(height: number): void {
    this.#cut.run(height);
  }

  /** Adds a block to the active chain that is not validated yet. */
  extendAssumed(height: number, headerId: number): void {
    this.#extend.run(height, headerId, 0, 0, UNKNOWN_TXS);
  }

  /** Sets the totals of a block if it is the one of the active chain at this height. */
  setTotals(height: number, headerId: number, { circulating, utxos, txs }: ChainTotals): void {
    this.#setTotals.run(circulating, utxos, txs, height, headerId);
  }

  extend(height: number, headerId: number, { circulating, utxos, txs }: ChainTotals): void {
    this.#extend.run(height, headerId, circulating, utxos, txs);
  }
}

export function hasFailed(status: number): boolean {
  return (status & (HeaderStatus.FAILED | HeaderStatus.FAILED_PARENT | HeaderStatus.INVALIDATED)) !== 0;
}
