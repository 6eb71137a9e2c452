/** More than what was received is allocated at most by this, so that a peer cannot claim memory with a few bytes. */
const ALLOCATE_AHEAD = 262_144;

/** Collects bytes up to a number that is known before, out of pieces of any size. Each byte is copied a few times at most. */
export class Gather {
  #wanted = 0;
  #length = 0;
  #buffer = new Uint8Array(0);

  /** Begins anew; what was collected before stays with whoever has it. */
  expect(size: number): void {
    this.#wanted = size;
    this.#length = 0;
    this.#buffer = new Uint8Array(0);
  }

  /** Goes on to collect up to `size`, keeping what is there. */
  extend(size: number): void {
    this.#wanted = size;
  }

  get length(): number {
    return this.#length;
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
      const ahead = Math.max(ALLOCATE_AHEAD, this.#length);
      const buffer = new Uint8Array(Math.min(this.#wanted, length + ahead));
      buffer.set(this.bytes);
      this.#buffer = buffer;
    }
    this.#buffer.set(bytes.subarray(at, at + count), this.#length);
    this.#length = length;
    return at + count;
  }
}
