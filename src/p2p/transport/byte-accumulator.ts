/**
 * Bytes allocated at first. The whole size is allocated once that many bytes have arrived, so that a peer cannot
 * reserve memory by announcing a large message.
 */
const ALLOCATE_AHEAD = 262_144;

const NOTHING = new Uint8Array(0);

/** Accumulates an expected number of bytes from chunks of any size. Each byte is copied a few times at most. */
export class ByteAccumulator {
  #wanted = 0;
  #length = 0;
  #buffer = NOTHING;

  /** Starts a new accumulation in a new buffer; views of the previous one stay valid. */
  expect(size: number): void {
    this.#wanted = size;
    this.#length = 0;
    this.#buffer = NOTHING;
  }

  /** Raises the expected number to `size` and keeps the bytes accumulated so far. */
  extend(size: number): void {
    this.#wanted = size;
  }

  get length(): number {
    return this.#length;
  }

  /** Allocated memory, bytes. */
  get size(): number {
    return this.#buffer.length;
  }

  get isComplete(): boolean {
    return this.#length === this.#wanted;
  }

  /** The accumulated bytes, as a view. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  /**
   * Copies bytes from offset `at` until the expected number is reached; returns the offset of the first byte not
   * copied.
   */
  append(bytes: Uint8Array, at: number): number {
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
