/** How many entries each bucket of a table holds, and which buckets hold any, so that one of those is drawn at once. */
export class BucketSet {
  readonly #counts: Uint16Array;
  /** Where each bucket stands in the list. */
  readonly #positions: Uint16Array;
  readonly #filled: number[] = [];

  constructor(buckets: number) {
    this.#counts = new Uint16Array(buckets);
    this.#positions = new Uint16Array(buckets);
  }

  /** Buckets that hold an entry, in no order. */
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
