const WAYS = 8;
/** Attempts before a thread sleeps: the thread that holds the lock may share its core. */
const SPINS = 100;
/** Longest sleep between two attempts, milliseconds. */
const NAP_MS = 1;
/** Int32 of the header: two seeds. */
const HEADER = 2;
const INT = 4;
const FLOAT = 8;

/**
 * Rows of numbers by a text, in memory that threads share. A row belongs to one of many small sets, each with a lock
 * that is held for some additions. Texts are stored as 64 bits of a seeded hash.
 */
export class SharedTable {
  readonly shared: SharedArrayBuffer;
  readonly values: Float64Array;
  readonly #sets: number;
  readonly #fields: number;
  readonly #seeds: Int32Array;
  readonly #locks: Int32Array;
  readonly #tags: Int32Array;
  #locked = 0;

  /** `sets` is a power of two. All threads pass the same sizes, and later ones the memory of the first. */
  constructor({ sets, fields }: { readonly sets: number; readonly fields: number }, shared?: SharedArrayBuffer) {
    const ints = HEADER + sets + 2 * sets * WAYS;
    const valuesAt = Math.ceil((ints * INT) / FLOAT) * FLOAT;
    this.shared = shared ?? new SharedArrayBuffer(valuesAt + sets * WAYS * fields * FLOAT);
    this.#sets = sets;
    this.#fields = fields;
    this.#seeds = new Int32Array(this.shared, 0, HEADER);
    this.#locks = new Int32Array(this.shared, HEADER * INT, sets);
    this.#tags = new Int32Array(this.shared, (HEADER + sets) * INT, 2 * sets * WAYS);
    this.values = new Float64Array(this.shared, valuesAt);
    if (!shared) crypto.getRandomValues(this.#seeds);
  }

  /**
   * Locks the row of a text and returns the index of its first value; a new row holds zeros. Where the set is full, the
   * row with the smallest first value is removed if `evicting`; otherwise -1 is returned, and nothing is locked. Call
   * `release` at once.
   */
  acquire(text: string, evicting: boolean): number {
    const first = Bun.hash.murmur32v3(text, this.#seeds[0]! >>> 0) | 0;
    // A tag of two zeros marks a free row.
    const second = Bun.hash.murmur32v3(text, this.#seeds[1]! >>> 0) | 1;
    const set = (first >>> 3) & (this.#sets - 1);
    this.#lock(set);
    this.#locked = set;
    const tags = this.#tags;
    let free = -1;
    let oldest = set * WAYS;
    for (let row = set * WAYS; row < (set + 1) * WAYS; row++) {
      if (tags[2 * row] === first && tags[2 * row + 1] === second) return row * this.#fields;
      if (tags[2 * row + 1] === 0) free = row;
      else if (this.values[row * this.#fields]! < this.values[oldest * this.#fields]!) oldest = row;
    }
    const row = free >= 0 ? free : evicting ? oldest : -1;
    if (row < 0) {
      this.release();
      return -1;
    }
    tags[2 * row] = first;
    tags[2 * row + 1] = second;
    const at = row * this.#fields;
    this.values.fill(0, at, at + this.#fields);
    return at;
  }

  /** Unlocks the row of the last `acquire`. */
  release(): void {
    Atomics.store(this.#locks, this.#locked, 0);
  }

  /** Frees the row whose first value has this index, and unlocks it. */
  remove(at: number): void {
    const row = at / this.#fields;
    this.#tags[2 * row] = 0;
    this.#tags[2 * row + 1] = 0;
    this.release();
  }

  #lock(set: number): void {
    for (let tries = 1; Atomics.compareExchange(this.#locks, set, 0, 1) !== 0; tries++)
      if (tries >= SPINS) Atomics.wait(this.#locks, set, 1, NAP_MS);
  }
}
