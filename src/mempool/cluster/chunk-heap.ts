import { grown, grownRows } from '../../util/column.ts';
import { compareFeerate } from './feefrac.ts';

/**
 * Outdated heap entries are skipped when they come to the top; the heap is compacted when it holds this many times the
 * entries that were valid at the last compaction.
 */
const CLEAN_ABOVE = 2;
const INITIAL = 1024;

/**
 * Heap of the last chunk of each cluster, with the lowest feerate on top. It is stored in typed arrays, since the
 * mempool has up to one chunk per transaction.
 */
export class ChunkHeap {
  readonly #isValid: (slot: number, version: number) => boolean;
  #slots = new Uint32Array(INITIAL);
  #versions = new Uint32Array(INITIAL);
  #fees = new Float64Array(INITIAL);
  #sizes = new Float64Array(INITIAL);
  #length = 0;
  #cleaned = 0;

  /** `isValid` returns whether a slot still has the version it was added with. */
  constructor(isValid: (slot: number, version: number) => boolean) {
    this.#isValid = isValid;
  }

  /** `version` is the current version of the slot; a later version invalidates this entry. */
  add(slot: number, version: number, fee: number, size: number): void {
    if (this.#length >= Math.max(INITIAL, this.#cleaned * CLEAN_ABOVE)) this.#clean();
    if (this.#length === this.#slots.length) this.#grow();
    this.#up(this.#length++, slot, version, fee, size);
  }

  /**
   * Returns the slot of the valid entry with the lowest feerate, or -1 if the heap is empty. The entry stays in the
   * heap.
   */
  worst(): number {
    while (this.#length > 0) {
      const slot = this.#slots[0]!;
      if (this.#isValid(slot, this.#versions[0]!)) return slot;
      this.#removeTop();
    }
    return -1;
  }

  #clean(): void {
    const count = this.#length;
    this.#length = 0;
    // Entries only move towards the front, to positions that have been read already.
    for (let from = 0; from < count; from++) {
      const [slot, version] = [this.#slots[from]!, this.#versions[from]!];
      if (this.#isValid(slot, version)) this.#up(this.#length++, slot, version, this.#fees[from]!, this.#sizes[from]!);
    }
    this.#cleaned = this.#length;
  }

  #removeTop(): void {
    const last = --this.#length;
    if (last > 0) this.#down(this.#slots[last]!, this.#versions[last]!, this.#fees[last]!, this.#sizes[last]!);
  }

  /** Returns whether an entry belongs above the entry at index `at`: a lower feerate first, then a higher slot. */
  #isBelow(slot: number, fee: number, size: number, at: number): boolean {
    const sign = compareFeerate(fee, size, this.#fees[at]!, this.#sizes[at]!);
    return sign < 0 || (sign === 0 && slot > this.#slots[at]!);
  }

  #setSlot(at: number, slot: number, version: number, fee: number, size: number): void {
    this.#slots[at] = slot;
    this.#versions[at] = version;
    this.#fees[at] = fee;
    this.#sizes[at] = size;
  }

  #move(to: number, from: number): void {
    this.#setSlot(to, this.#slots[from]!, this.#versions[from]!, this.#fees[from]!, this.#sizes[from]!);
  }

  /** Sifts an entry up from the free index `start`. */
  #up(start: number, slot: number, version: number, fee: number, size: number): void {
    let at = start;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!this.#isBelow(slot, fee, size, above)) break;
      this.#move(at, above);
      at = above;
    }
    this.#setSlot(at, slot, version, fee, size);
  }

  /** Sifts an entry down from the top, which is free. */
  #down(slot: number, version: number, fee: number, size: number): void {
    let at = 0;
    for (let below = 1; below < this.#length; below = at * 2 + 1) {
      const right = below + 1;
      if (right < this.#length && this.#isBelow(this.#slots[right]!, this.#fees[right]!, this.#sizes[right]!, below))
        below = right;
      if (this.#isBelow(slot, fee, size, below)) break;
      this.#move(at, below);
      at = below;
    }
    this.#setSlot(at, slot, version, fee, size);
  }

  #grow(): void {
    const rows = grownRows(this.#slots.length);
    this.#slots = grown(this.#slots, rows);
    this.#versions = grown(this.#versions, rows);
    this.#fees = grown(this.#fees, rows);
    this.#sizes = grown(this.#sizes, rows);
  }
}
