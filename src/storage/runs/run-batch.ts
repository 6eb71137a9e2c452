import { type KeyOrder, keyOrder } from '../../util/sorted-order.ts';
import { pushEntry } from './merge-scan.ts';
import type { RunBuilder } from './run-builder.ts';
import type { RunFamily } from './run-family.ts';
import { compareKeys } from './run-format.ts';
import type { PageEntry } from './run-page.ts';

/** Groups of entries with equal first bytes up to this size are sorted by insertion. */
const INSERTION_LIMIT = 16;

/** The first bytes of the keys are equal in a group: `keyOrder` ignores fewer than eight of the 32 bits. */
const EQUAL_BYTES = 3;

const INITIAL_ENTRIES = 256;

/** A batch whose arrays another thread reads. */
export interface SharedBatch {
  readonly family: RunFamily;
  readonly count: number;
  readonly used: number;
  readonly keys: Uint8Array;
  readonly removed: Uint8Array;
  readonly ends: Float64Array;
  readonly values: Uint8Array;
}

/** Entries of one family in no order, in packed arrays, which `writeTo` sorts. The arrays are in shared memory. */
export class RunBatch {
  readonly family: RunFamily;
  #keys: Uint8Array;
  #removed: Uint8Array;
  /** Offset of the end of each value; it begins where the value before ends. */
  #ends: Float64Array;
  #values: Uint8Array;
  #count = 0;
  #used = 0;

  constructor(family: RunFamily) {
    this.family = family;
    this.#keys = sharedBytes(INITIAL_ENTRIES * family.keySize);
    this.#removed = sharedBytes(INITIAL_ENTRIES);
    this.#ends = sharedNumbers(INITIAL_ENTRIES);
    this.#values = sharedBytes(4096);
  }

  /** Returns the batch of another thread, which must not change it meanwhile. */
  static fromShared({ family, count, used, keys, removed, ends, values }: SharedBatch): RunBatch {
    const batch = new RunBatch(family);
    batch.#keys = keys;
    batch.#removed = removed;
    batch.#ends = ends;
    batch.#values = values;
    batch.#count = count;
    batch.#used = used;
    return batch;
  }

  /** Returns the arrays for another thread, without a copy. */
  get shared(): SharedBatch {
    return {
      family: this.family,
      count: this.#count,
      used: this.#used,
      keys: this.#keys,
      removed: this.#removed,
      ends: this.#ends,
      values: this.#values,
    };
  }

  get count(): number {
    return this.#count;
  }

  /** Bytes of keys and values, close to those of the run. */
  get bytes(): number {
    return this.#count * (this.family.keySize + 2) + this.#used;
  }

  /** Removes all entries. The arrays are kept for as many entries as there were, so that they are not made again. */
  clear(): void {
    if (this.#count * 8 < this.#removed.length) {
      const size = Math.max(INITIAL_ENTRIES, this.#count * 2);
      this.#keys = sharedBytes(size * this.family.keySize);
      this.#removed = sharedBytes(size);
      this.#ends = sharedNumbers(size);
      this.#values = sharedBytes(Math.max(4096, this.#used * 2));
    }
    this.#count = 0;
    this.#used = 0;
  }

  /**
   * Adds an entry with a value of up to `size` bytes. The caller writes the key to `keys` at `keyAt`, the value to
   * `values` at `valueAt`, and then calls `finishEntry`.
   */
  beginEntry(removed: boolean, size: number): void {
    if (this.#count === this.#removed.length) this.#grow();
    this.#removed[this.#count] = removed ? 1 : 0;
    if (this.#used + size > this.#values.length) {
      const larger = sharedBytes(Math.max(this.#values.length * 2, this.#used + size));
      larger.set(this.#values.subarray(0, this.#used));
      this.#values = larger;
    }
  }

  get keys(): Uint8Array {
    return this.#keys;
  }

  get keyAt(): number {
    return this.#count * this.family.keySize;
  }

  get values(): Uint8Array {
    return this.#values;
  }

  get valueAt(): number {
    return this.#used;
  }

  /** Ends the entry; its value ends at `valueEnd`. */
  finishEntry(valueEnd: number): void {
    this.#used = valueEnd;
    this.#ends[this.#count++] = valueEnd;
  }

  /** Calls `visit` with each entry, in the order in which they were added. The value is `values` from `from` to `to`. */
  visitEntries(
    visit: (removed: boolean, keys: Uint8Array, keyAt: number, values: Uint8Array, from: number, to: number) => void,
  ): void {
    for (let n = 0; n < this.#count; n++)
      visit(this.#removed[n] === 1, this.#keys, n * this.family.keySize, this.#values, this.#from(n), this.#ends[n]!);
  }

  /** Adds the entries to a run in the order of their keys. Entries that cancel within the batch are left out. */
  writeTo(builder: RunBuilder): void {
    const { order, groups } = this.#ordered();
    for (let i = 0; i < order.length; ) {
      // Keys are equal only within a group, and most groups have one entry.
      let next = i + 1;
      while (next < order.length && groups[next] === groups[i]) next++;
      if (next === i + 1) this.#writeEntry(builder, order[i]!);
      else this.#writeGroup(builder, order, i, next);
      i = next;
    }
  }

  #writeEntry(builder: RunBuilder, n: number): void {
    const keyAt = n * this.family.keySize;
    builder.addEntry(this.#keys, keyAt, this.#removed[n] === 1, this.#values, this.#from(n), this.#ends[n]!);
  }

  /** Sorts the entries from `start` up to before `end`, and writes what remains of those of each key. */
  #writeGroup(builder: RunBuilder, order: Uint32Array, start: number, end: number): void {
    const { keySize } = this.family;
    const keys = this.#keys;
    this.#sortGroup(order, start, end);
    for (let i = start; i < end; ) {
      const keyAt = order[i]! * keySize;
      let next = i + 1;
      while (next < end && this.#compareInGroup(order[i]!, order[next]!) === 0) next++;
      if (next === i + 1) this.#writeEntry(builder, order[i]!);
      else
        for (const { removed, bytes, from, to } of this.#remaining(order.subarray(i, next)))
          builder.addEntry(keys, keyAt, removed, bytes, from, to);
      i = next;
    }
  }

  #from(n: number): number {
    return n === 0 ? 0 : this.#ends[n - 1]!;
  }

  /** Returns what remains of entries of one key, given in order of time. */
  #remaining(order: Uint32Array): PageEntry[] {
    const entries: PageEntry[] = [];
    for (const n of order)
      pushEntry(entries, {
        removed: this.#removed[n] === 1,
        bytes: this.#values,
        from: this.#from(n),
        to: this.#ends[n]!,
      });
    return entries;
  }

  /** Returns the numbers of the entries in the order of the first bits of their keys; equal ones stay in order of time. */
  #ordered(): KeyOrder {
    const { keySize } = this.family;
    const keys = this.#keys;
    return keyOrder(this.#count, (n) => {
      const at = n * keySize;
      return ((keys[at]! << 24) | (keys[at + 1]! << 16) | (keys[at + 2]! << 8) | keys[at + 3]!) >>> 0;
    });
  }

  #sortGroup(order: Uint32Array, start: number, end: number): void {
    const compare = (a: number, b: number) => this.#compareInGroup(a, b) || a - b;
    // Rows of one script that were added in order of time are in the order of their keys.
    let sorted = start + 1;
    while (sorted < end && compare(order[sorted - 1]!, order[sorted]!) < 0) sorted++;
    if (sorted === end) return;
    if (end - start > INSERTION_LIMIT) {
      order.subarray(start, end).sort(compare);
      return;
    }
    for (let i = sorted; i < end; i++) {
      const item = order[i]!;
      let at = i;
      for (; at > start && compare(order[at - 1]!, item) > 0; at--) order[at] = order[at - 1]!;
      order[at] = item;
    }
  }

  /** Compares the keys of two entries of one group. */
  #compareInGroup(a: number, b: number): number {
    const { keySize } = this.family;
    const keys = this.#keys;
    return compareKeys(keys, a * keySize + EQUAL_BYTES, keys, b * keySize + EQUAL_BYTES, keySize - EQUAL_BYTES);
  }

  #grow(): void {
    const size = this.#count * 2;
    const keys = sharedBytes(size * this.family.keySize);
    keys.set(this.#keys);
    this.#keys = keys;
    const removed = sharedBytes(size);
    removed.set(this.#removed);
    this.#removed = removed;
    const ends = sharedNumbers(size);
    ends.set(this.#ends);
    this.#ends = ends;
  }
}

function sharedBytes(size: number): Uint8Array {
  return new Uint8Array(new SharedArrayBuffer(size));
}

function sharedNumbers(size: number): Float64Array {
  return new Float64Array(new SharedArrayBuffer(size * 8));
}
