import type { RemovalReason } from '../mempool/changes.ts';
import type { TxSource } from '../mempool/mirror.ts';
import { entryBytes, entryOf, type KeptEntry, type LogEntry } from './log-entry.ts';

/** Entries that are packed together. */
const PAGE = 64;
/** The newest entries stay unpacked, since all live clients read them. */
const UNPACKED = 256;
/** Pages that are unpacked for readers at the same time. */
const MAX_OPEN_PAGES = 8;
/** Their part of the memory of all entries. One page is opened at least, whatever its size. */
const OPEN_SHARE = 1 / 8;
/** Columns of a packed entry: its number, times and fee rate, where its transaction is, and codes of type and reason. */
const WIDTH = 7;
const [SEQ, AT, FEE_RATE, SLOT, REMOVED_BY, TYPE, REASON] = [0, 1, 2, 3, 4, 5, 6];
/** Lengths of an entry's text, transaction and undo records, before all of them in an unpacked page. */
const LENGTHS = 3;
const LEVEL = 1;

/** An entry with the monotonic time of its arrival, milliseconds. */
interface RecentEntry extends KeptEntry {
  readonly at: number;
  /** Number of the event of its removal, which has the bytes of the transaction as well; 0 without one. */
  removedBy: number;
}

interface PackedPage {
  readonly rows: Float64Array;
  readonly packed: Uint8Array;
}

interface OpenPage {
  readonly bytes: Buffer;
  /** Offsets of the parts of all entries, and the end of the last. */
  readonly offsets: Uint32Array;
}

export interface KeptEntriesOptions {
  /** Returns a copy of the transaction at a slot of the mempool, if the event `seq` announced it and it is still there. */
  unconfirmedAt(slot: number, seq: number): TxSource | null;
  /** Returns the transaction of the removal with a number that is not kept yet. */
  pendingRemoval(seq: number): TxSource | null;
  /** Limit of the memory of all entries, which the caller keeps by `evictFirst`, bytes. */
  readonly maxBytes: number;
}

/**
 * The entries of the event log in memory, in order. Older ones are compressed in pages, and the transaction of an event
 * is not kept with it where the mempool has it, or the event of its removal: an entry then takes about 150 bytes, an
 * object for each takes ten times as much.
 */
export class KeptEntries {
  readonly #options: KeptEntriesOptions;
  #pages: PackedPage[] = [];
  /** Number of evicted entries in the first page. */
  #evicted = 0;
  #recent: RecentEntry[] = [];
  #bytes = 0;
  readonly #types: string[] = [];
  readonly #reasons: (RemovalReason | null)[] = [null];
  /** The least recently used one first. */
  readonly #open = new Map<PackedPage, OpenPage>();
  #openBytes = 0;

  constructor(options: KeptEntriesOptions) {
    this.#options = options;
  }

  get length(): number {
    return this.#packedCount + this.#recent.length;
  }

  /** Memory of all entries, with the pages that are unpacked for readers, bytes. */
  get bytes(): number {
    return this.#bytes + this.#openBytes;
  }

  add(entry: KeptEntry, at: number): void {
    this.#recent.push({ ...entry, at, removedBy: 0 });
    this.#bytes += entryBytes(entry);
    if (this.#recent.length >= UNPACKED + PAGE) this.#pack();
  }

  /** Records that the removal with the number `removedBy` has the transaction of the event `seq` as well. */
  linkRemoval(seq: number, removedBy: number): void {
    const index = this.find(seq - 1);
    if (index >= this.length || this.seqAt(index) !== seq) return;
    const recent = this.#recentAt(index);
    if (recent) recent.removedBy = removedBy;
    else this.#setColumn(index, REMOVED_BY, removedBy);
  }

  /** Removes the oldest entry. Returns its number and type. */
  evictFirst(): Pick<KeptEntry, 'seq' | 'type'> {
    const first = { seq: this.seqAt(0), type: this.typeAt(0) };
    const page = this.#pages[0];
    if (!page) this.#bytes -= entryBytes(this.#recent.shift()!);
    else {
      this.#bytes -= pageBytes(page) / PAGE;
      if (++this.#evicted === PAGE) {
        this.#pages.shift();
        this.#close(page);
        this.#evicted = 0;
      }
    }
    return first;
  }

  seqAt(index: number): number {
    return this.#recentAt(index)?.seq ?? this.#column(index, SEQ);
  }

  /** Returns the monotonic time at which an entry was added, milliseconds. */
  timeAt(index: number): number {
    return this.#recentAt(index)?.at ?? this.#column(index, AT);
  }

  typeAt(index: number): string {
    return this.#recentAt(index)?.type ?? this.#types[this.#column(index, TYPE)]!;
  }

  entryAt(index: number): LogEntry {
    const recent = this.#recentAt(index);
    if (recent) return entryOf(recent);
    const tx = this.#transactionAt(index);
    return entryOf({
      seq: this.seqAt(index),
      type: this.typeAt(index),
      data: this.#part(index, 0).toString(),
      raw: tx?.raw ?? null,
      spent: tx?.spent ?? null,
      feeRate: this.#column(index, FEE_RATE),
      reason: this.#reasons[this.#column(index, REASON)]!,
      slot: this.#column(index, SLOT),
    });
  }

  /** Returns the index of the first entry behind a number. */
  find(seq: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.seqAt(middle) <= seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  get #packedCount(): number {
    return this.#pages.length * PAGE - this.#evicted;
  }

  #recentAt(index: number): RecentEntry | undefined {
    return this.#recent[index - this.#packedCount];
  }

  #pageOf(index: number): PackedPage {
    return this.#pages[Math.floor((index + this.#evicted) / PAGE)]!;
  }

  #column(index: number, column: number): number {
    return this.#pageOf(index).rows[((index + this.#evicted) % PAGE) * WIDTH + column]!;
  }

  #setColumn(index: number, column: number, value: number): void {
    this.#pageOf(index).rows[((index + this.#evicted) % PAGE) * WIDTH + column] = value;
  }

  /** Returns the transaction of a packed entry, with its bytes from where they are kept. */
  #transactionAt(index: number): TxSource | null {
    const raw = this.#part(index, 1);
    // Copies, since the page is closed while the reader still uses them.
    if (raw.length > 0) return { raw: new Uint8Array(raw), spent: new Uint8Array(this.#part(index, 2)) };
    const removedBy = this.#column(index, REMOVED_BY);
    if (removedBy > 0) return this.#removedTransaction(removedBy);
    const slot = this.#column(index, SLOT);
    return slot < 0 ? null : this.#options.unconfirmedAt(slot, this.seqAt(index));
  }

  #removedTransaction(seq: number): TxSource | null {
    const index = this.find(seq - 1);
    return index < this.length && this.seqAt(index) === seq
      ? this.entryAt(index).tx
      : this.#options.pendingRemoval(seq);
  }

  /** Returns a part of a packed entry as a view: 0 is its text, 1 its transaction, 2 the undo records. */
  #part(index: number, part: number): Buffer {
    const page = this.#pageOf(index);
    const { bytes, offsets } = this.#opened(page);
    const at = ((index + this.#evicted) % PAGE) * LENGTHS + part;
    return bytes.subarray(offsets[at]!, offsets[at + 1]!);
  }

  #opened(page: PackedPage): OpenPage {
    const known = this.#open.get(page);
    if (known) {
      this.#open.delete(page);
      this.#open.set(page, known);
      return known;
    }
    const bytes = Bun.zstdDecompressSync(page.packed);
    const lengths = PAGE * LENGTHS;
    const offsets = new Uint32Array(lengths + 1);
    offsets[0] = lengths * 4;
    for (let i = 0; i < lengths; i++) offsets[i + 1] = offsets[i]! + bytes.readUInt32LE(i * 4);
    const opened = { bytes, offsets };
    const limit = this.#options.maxBytes * OPEN_SHARE - openBytes(opened);
    for (const oldest of this.#open.keys()) {
      if (this.#open.size < MAX_OPEN_PAGES && this.#openBytes <= limit) break;
      this.#close(oldest);
    }
    this.#open.set(page, opened);
    this.#openBytes += openBytes(opened);
    return opened;
  }

  #close(page: PackedPage): void {
    const open = this.#open.get(page);
    if (!open) return;
    this.#open.delete(page);
    this.#openBytes -= openBytes(open);
  }

  /** Packs the oldest of the recent entries. */
  #pack(): void {
    const entries = this.#recent.splice(0, PAGE);
    const rows = new Float64Array(PAGE * WIDTH);
    const lengths = Buffer.alloc(PAGE * LENGTHS * 4);
    const parts: Uint8Array[] = [lengths];
    for (const [i, entry] of entries.entries()) {
      const { seq, at, feeRate, slot, removedBy, type, reason } = entry;
      rows.set(
        [seq, at, feeRate, slot, removedBy, codeIn(this.#types, type), codeIn(this.#reasons, reason)],
        i * WIDTH,
      );
      const tx = this.#isElsewhere(entry) ? null : entry;
      for (const part of [Buffer.from(entry.data), tx?.raw ?? NOTHING, tx?.spent ?? NOTHING]) {
        lengths.writeUInt32LE(part.length, (parts.length - 1) * 4);
        parts.push(part);
      }
      this.#bytes -= entryBytes(entry);
    }
    const page = { rows, packed: new Uint8Array(Bun.zstdCompressSync(Buffer.concat(parts), { level: LEVEL })) };
    this.#pages.push(page);
    this.#bytes += pageBytes(page);
  }

  #isElsewhere({ slot, seq, removedBy }: RecentEntry): boolean {
    return removedBy > 0 || (slot >= 0 && this.#options.unconfirmedAt(slot, seq) !== null);
  }
}

const NOTHING = new Uint8Array(0);
const PAGE_OVERHEAD = 300;

function pageBytes({ rows, packed }: PackedPage): number {
  return rows.byteLength + packed.byteLength + PAGE_OVERHEAD;
}

function openBytes({ bytes, offsets }: OpenPage): number {
  return bytes.byteLength + offsets.byteLength + PAGE_OVERHEAD;
}

/** Returns the index of a value, which is added if it is new. */
function codeIn<T>(values: T[], value: T): number {
  const at = values.indexOf(value);
  return at < 0 ? values.push(value) - 1 : at;
}
