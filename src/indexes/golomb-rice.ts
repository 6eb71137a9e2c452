import { type ByteWriter, DecodeError } from '../util/bytes.ts';

/** Writes Golomb-Rice codes: the quotient by 2^p as that many ones and a zero, the remainder in p bits. */
export class GolombRiceWriter {
  readonly #w: ByteWriter;
  readonly #p: number;
  #pending = 0;
  #pendingBits = 0;

  /** `p` is at most 24. */
  constructor(w: ByteWriter, p: number) {
    this.#w = w;
    this.#p = p;
  }

  /** Writes a non-negative integer that a double holds exactly. */
  write(value: number): void {
    const divisor = 2 ** this.#p;
    let quotient = Math.floor(value / divisor);
    for (; quotient >= 16; quotient -= 16) this.#bits(0xffff, 16);
    this.#bits((1 << (quotient + 1)) - 2, quotient + 1);
    this.#bits(value % divisor, this.#p);
  }

  /** Pads the last byte with zeros. */
  finish(): void {
    if (this.#pendingBits > 0) this.#bits(0, 8 - this.#pendingBits);
  }

  // Fewer than 8 bits are pending, so 24 more fit a word.
  #bits(value: number, count: number): void {
    let pending = (this.#pending << count) | value;
    let bits = this.#pendingBits + count;
    while (bits >= 8) {
      bits -= 8;
      this.#w.u8((pending >>> bits) & 0xff);
    }
    pending &= (1 << bits) - 1;
    this.#pending = pending;
    this.#pendingBits = bits;
  }
}

/** Reads Golomb-Rice codes from `pos` to the end of `bytes`. */
export class GolombRiceReader {
  readonly #bytes: Uint8Array;
  readonly #p: number;
  #pos: number;
  /** Number of bits read from the byte at `#pos`. */
  #offset = 0;

  constructor(bytes: Uint8Array, pos: number, p: number) {
    this.#bytes = bytes;
    this.#pos = pos;
    this.#p = p;
  }

  /** Whether only the rest of a partly read byte is left. */
  get atEnd(): boolean {
    return this.#pos + (this.#offset > 0 ? 1 : 0) >= this.#bytes.length;
  }

  /** Reads a number. Throws DecodeError at the end of the data. */
  read(): number {
    const bytes = this.#bytes;
    let quotient = 0;
    for (;;) {
      if (this.#pos >= bytes.length) throw new DecodeError('unexpected end of data');
      const rest = (bytes[this.#pos]! << this.#offset) & 0xff;
      const ones = Math.clz32(~(rest << 24));
      if (this.#offset + ones < 8) {
        quotient += ones;
        this.#advance(ones + 1);
        break;
      }
      quotient += 8 - this.#offset;
      this.#advance(8 - this.#offset);
    }
    let remainder = 0;
    for (let left = this.#p; left > 0; ) {
      if (this.#pos >= bytes.length) throw new DecodeError('unexpected end of data');
      const count = Math.min(8 - this.#offset, left);
      const rest = (bytes[this.#pos]! << this.#offset) & 0xff;
      remainder = (remainder << count) | (rest >>> (8 - count));
      this.#advance(count);
      left -= count;
    }
    return quotient * 2 ** this.#p + remainder;
  }

  /** Advances by at most 8 bits. */
  #advance(bits: number): void {
    this.#offset += bits;
    if (this.#offset >= 8) {
      this.#offset -= 8;
      this.#pos++;
    }
  }
}
