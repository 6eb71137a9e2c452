const INITIAL = 64;

/** First in, first out, of bits, eight to a byte. Memory of what was taken is only given back by `clear`. */
export class BitQueue {
  #bytes = new Uint8Array(INITIAL);
  #taken = 0;
  #added = 0;

  get size(): number {
    return this.#added - this.#taken;
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

  /** The oldest bit; there must be one. */
  shift(): number {
    const at = this.#taken++;
    return (this.#bytes[at >>> 3]! >>> (at & 7)) & 1;
  }

  clear(): void {
    this.#bytes = new Uint8Array(INITIAL);
    this.#taken = this.#added = 0;
  }
}
