import type { Database } from 'bun:sqlite';

/** Sums over blocks of the active chain; null where no block of them has the figure. */
export interface BlockSums {
  /** Number of blocks whose bodies were received, and of those that were connected. */
  readonly received: number;
  readonly connected: number;
  /** Bytes of the encoded blocks, with and without witnesses. */
  readonly size: number | null;
  readonly strippedSize: number | null;
  readonly txCount: number | null;
  /** Satoshis. */
  readonly fees: number | null;
  /** Weight of the blocks that were connected. */
  readonly connectedWeight: number | null;
}

/** Blocks of a page: small enough that the ends of 500 points are read in some milliseconds. */
const PAGE_BLOCKS = 64;
/** Blocks of one read of pages that are not known, some 16 milliseconds. */
const READ_BLOCKS = 16_384;
/** Size, stripped size, transactions, fees, weight. */
const FIGURES = 5;

const SUMS = `count(h.size) AS received, count(h.fees) AS connected, sum(h.size) AS size,
  sum(h.stripped_size) AS strippedSize, sum(h.tx_count) AS txCount, sum(h.fees) AS fees,
  sum(CASE WHEN h.fees IS NOT NULL THEN h.stripped_size * 3 + h.size END) AS connectedWeight`;
const BLOCKS = 'FROM chain c JOIN headers h ON h.id = c.header_id WHERE c.height >= ? AND c.height <= ?';

/**
 * Sums over ranges of blocks of the active chain. The sums of whole pages of 64 connected blocks are kept in memory, some
 * 700 kB for 900,000 blocks: their figures never change, and a page belongs to the active chain as long as its last block
 * does. Page `p` begins at height `64 p + 1`.
 */
export class BlockSumPages {
  readonly #sums;
  readonly #activeId;
  /** Number of pages up to the highest one that is known. */
  #length = 0;
  /** The id of the last block of a page; 0 for a page that is not known. */
  #lastIds = new Uint32Array(0);
  #figures = new Float64Array(0);

  constructor(db: Database) {
    this.#sums = db.prepare<BlockSums, [number, number]>(`SELECT ${SUMS} ${BLOCKS}`);
    this.#activeId = db.prepare<{ header_id: number }, [number]>('SELECT header_id FROM chain WHERE height = ?');
  }

  /** Adds up the blocks from one height to another. It takes a microsecond for each block that is in no known page. */
  sums(from: number, to: number): BlockSums {
    const first = Math.ceil((from - 1) / PAGE_BLOCKS);
    const end = Math.floor(to / PAGE_BLOCKS);
    if (first >= end) return this.#sums.get(from, to)!;
    this.#dropStale();
    const total = new Totals();
    if (from <= first * PAGE_BLOCKS) total.add(this.#sums.get(from, first * PAGE_BLOCKS)!);
    for (let page = first, unknown = first; page <= end; page++) {
      const isKnown = page < this.#length && this.#lastIds[page] !== 0;
      if (page < end && !isKnown) continue;
      // Pages that are not known and not kept are read together.
      if (unknown < page) total.add(this.#sums.get(unknown * PAGE_BLOCKS + 1, page * PAGE_BLOCKS)!);
      unknown = page + 1;
      if (page < end) total.addPage(this.#figures, page);
    }
    if (to > end * PAGE_BLOCKS) total.add(this.#sums.get(end * PAGE_BLOCKS + 1, to)!);
    return total.sums;
  }

  /**
   * Reads the pages within a range that are not known, after it has dropped those of another branch. `expectWork` is
   * called with the microseconds of each step before it is made.
   */
  readPages(from: number, to: number, expectWork: (microseconds: number) => void): void {
    this.#dropStale();
    const first = Math.ceil((from - 1) / PAGE_BLOCKS);
    const end = Math.floor(to / PAGE_BLOCKS);
    for (let page = first; page < end; ) {
      if (page < this.#length && this.#lastIds[page] !== 0) {
        page++;
        continue;
      }
      const next = Math.min(end, page + READ_BLOCKS / PAGE_BLOCKS);
      expectWork((next - page) * PAGE_BLOCKS);
      for (; page < next; page++) this.#keep(page, this.#sums.get(page * PAGE_BLOCKS + 1, (page + 1) * PAGE_BLOCKS)!);
    }
  }

  #keep(page: number, sums: BlockSums): void {
    const { received, connected, size, strippedSize, txCount, fees, connectedWeight } = sums;
    // Other figures may still come: those of a block that is validated behind a loaded UTXO set.
    if (received < PAGE_BLOCKS || connected < PAGE_BLOCKS) return;
    if (page >= this.#lastIds.length) this.#grow(page + 1);
    this.#figures.set([size!, strippedSize!, txCount!, fees!, connectedWeight!], page * FIGURES);
    this.#lastIds[page] = this.#activeId.get((page + 1) * PAGE_BLOCKS)!.header_id;
    this.#length = Math.max(this.#length, page + 1);
  }

  #grow(pages: number): void {
    const size = Math.max(pages, 2 * this.#lastIds.length);
    const [ids, figures] = [this.#lastIds, this.#figures];
    this.#lastIds = new Uint32Array(size);
    this.#figures = new Float64Array(size * FIGURES);
    this.#lastIds.set(ids);
    this.#figures.set(figures);
  }

  /** The chain below an active block is active, so only the pages above the highest active one are dropped. */
  #dropStale(): void {
    for (; this.#length > 0; this.#length--) {
      const page = this.#length - 1;
      const id = this.#lastIds[page]!;
      if (id !== 0 && this.#activeId.get((page + 1) * PAGE_BLOCKS)?.header_id === id) return;
      this.#lastIds[page] = 0;
    }
  }
}

/** Adds up sums; a figure that no block has is null. */
class Totals {
  #received = 0;
  #connected = 0;
  readonly #figures = new Float64Array(FIGURES);

  add({ received, connected, size, strippedSize, txCount, fees, connectedWeight }: BlockSums): void {
    this.#received += received;
    this.#connected += connected;
    for (const [i, figure] of [size, strippedSize, txCount, fees, connectedWeight].entries())
      this.#figures[i]! += figure ?? 0;
  }

  addPage(figures: Float64Array, page: number): void {
    this.#received += PAGE_BLOCKS;
    this.#connected += PAGE_BLOCKS;
    for (let i = 0; i < FIGURES; i++) this.#figures[i]! += figures[page * FIGURES + i]!;
  }

  get sums(): BlockSums {
    const [size, strippedSize, txCount, fees, connectedWeight] = this.#figures as unknown as readonly number[];
    const [isReceived, isConnected] = [this.#received > 0, this.#connected > 0];
    return {
      received: this.#received,
      connected: this.#connected,
      size: isReceived ? size! : null,
      strippedSize: isReceived ? strippedSize! : null,
      txCount: isReceived ? txCount! : null,
      fees: isConnected ? fees! : null,
      connectedWeight: isConnected ? connectedWeight! : null,
    };
  }
}
