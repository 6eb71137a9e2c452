/**
 * The number of entries in each bucket of a table, with a list of the non-empty buckets, from which one can be selected
 * at random.
 */
export class BucketSet {
  readonly #counts: Uint16Array;
  /** Index of each non-empty bucket in the list. */
  readonly #positions: Uint16Array;
  readonly #filled: number[] = [];

  constructor(buckets: number) {
    this.#counts = new Uint16Array(buckets);
    this.#positions = new Uint16Array(buckets);
  }

  /** Non-empty buckets, unordered. */
  get filled(): readonly number[] {
    return this.#filled;
  }

  add(bucket: number): void {
    if (this.#counts[bucket]!++ > 0) return;
    this.#positions[bucket] = this.#filled.length;
    this.#filled.push(bucket);
  }

  remove(bucket: number): void {
    if (--this.#counts[bucket]! > 0) return;
    const last = this.#filled.pop()!;
    if (last === bucket) return;
    const position = this.#positions[bucket]!;
    this.#filled[position] = last;
    this.#positions[last] = position;
  }
}
