const INITIAL = 64;

/** A FIFO queue of bits, eight to a byte. Memory of dequeued bits is released by `clear` alone. */
export class BitQueue {
  #bytes = new Uint8Array(INITIAL);
  #removed = 0;
  #added = 0;

  get size(): number {
    return this.#added - this.#removed;
  }

  /** Bytes of memory. */
  get usage(): number {
    return this.#bytes.length;
  }

  push(bit: number): void {
    const at = this.#added++;
    if (at >>> 3 >= this.#bytes.length) {
      const larger = new Uint8Array(this.#bytes.length * 2);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    if (bit & 1) this.#bytes[at >>> 3]! |= 1 << (at & 7);
  }

  /** Removes and returns the oldest bit; the queue must not be empty. */
  shift(): number {
    const at = this.#removed++;
    return (this.#bytes[at >>> 3]! >>> (at & 7)) & 1;
  }

  clear(): void {
    this.#bytes = new Uint8Array(INITIAL);
    this.#removed = this.#added = 0;
  }
}
