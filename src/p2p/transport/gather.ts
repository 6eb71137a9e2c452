/** So much is allocated at first, and beyond the same size all of it: a peer cannot claim memory with a few bytes. */
const ALLOCATE_AHEAD = 262_144;

const NOTHING = new Uint8Array(0);

/** Collects bytes up to a number that is known before, out of pieces of any size. Each byte is copied a few times at most. */
export class Gather {
  #wanted = 0;
  #length = 0;
  #buffer = NOTHING;

  /** Begins anew; what was collected before stays with whoever has it. */
  expect(size: number): void {
    this.#wanted = size;
    this.#length = 0;
    this.#buffer = NOTHING;
  }

  /** Goes on to collect up to `size`, keeping what is there. */
  extend(size: number): void {
    this.#wanted = size;
  }

  get length(): number {
    return this.#length;
  }

  /** Bytes of memory that it takes. */
  get size(): number {
    return this.#buffer.length;
  }

  get isComplete(): boolean {
    return this.#length === this.#wanted;
  }

  /** What was collected, as a view. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Takes what is wanted of `bytes` from `at` on; yields where it stopped. */
  take(bytes: Uint8Array, at: number): number {
    const count = Math.min(this.#wanted - this.#length, bytes.length - at);
    const length = this.#length + count;
    if (length > this.#buffer.length) {
      const ahead = this.#length < ALLOCATE_AHEAD ? ALLOCATE_AHEAD : this.#wanted;
      const buffer = new Uint8Array(Math.min(this.#wanted, length + ahead));
      buffer.set(this.bytes);
      this.#buffer = buffer;
    }
    this.#buffer.set(bytes.subarray(at, at + count), this.#length);
    this.#length = length;
    return at + count;
  }
}
