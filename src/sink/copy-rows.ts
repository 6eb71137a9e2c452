const INITIAL_BYTES = 1 << 16;
const MOSTLY_UNUSED = 16;
const TAB = 0x09;
const LINE_END = 0x0a;
const MINUS = 0x2d;
const ZERO = 0x30;
const BACKSLASH = 0x5c;
const SMALL_X = 0x78;
/** Digits of the largest safe integer, and a sign. */
const NUMBER_BYTES = 17;
/** A backslash is doubled in the text format, and `x` begins a value of the type BYTEA. */
const BYTEA_HEAD = 3;
/** Bytes of a UTF-16 unit in UTF-8 at most. */
const UTF8_BYTES = 3;
const ENCODER = new TextEncoder();
const HEX = new Uint16Array(256);
for (let byte = 0; byte < 256; byte++) {
  const text = byte.toString(16).padStart(2, '0');
  HEX[byte] = text.charCodeAt(0) | (text.charCodeAt(1) << 8);
}

/** Rows of one table in the text format of COPY, written as bytes: strings would take several times as long. */
export class CopyRows {
  #bytes = new Uint8Array(INITIAL_BYTES);
  #at = 0;
  #isRowBegun = false;
  /** Number of complete rows. */
  count = 0;

  /** Adds an integer of up to 2^53 to the row. */
  addNumber(value: number): this {
    this.#beginColumn(NUMBER_BYTES);
    const bytes = this.#bytes;
    let rest = value;
    if (rest < 0) {
      bytes[this.#at++] = MINUS;
      rest = -rest;
    }
    let digits = 1;
    for (let power = 10; power <= rest; power *= 10) digits++;
    for (let i = this.#at + digits - 1; i >= this.#at; i--) {
      const next = Math.floor(rest / 10);
      bytes[i] = ZERO + (rest - next * 10);
      rest = next;
    }
    this.#at += digits;
    return this;
  }

  /** Adds bytes to the row; `reversed`: the last one first, as a hash is displayed. */
  addBytes(value: Uint8Array, reversed = false): this {
    const { length } = value;
    this.#beginColumn(BYTEA_HEAD + 2 * length);
    const bytes = this.#bytes;
    let at = this.#at;
    bytes[at++] = BACKSLASH;
    bytes[at++] = BACKSLASH;
    bytes[at++] = SMALL_X;
    for (let i = 0; i < length; i++) {
      const digits = HEX[value[reversed ? length - 1 - i : i]!]!;
      bytes[at++] = digits & 0xff;
      bytes[at++] = digits >> 8;
    }
    this.#at = at;
    return this;
  }

  /** Adds text to the row, which holds no tab and no line end, as JSON of one line. */
  addText(value: string): this {
    this.#beginColumn(UTF8_BYTES * value.length);
    const text = value.includes('\\') ? value.replaceAll('\\', '\\\\') : value;
    if (text !== value) this.#reserve(UTF8_BYTES * text.length);
    this.#at += ENCODER.encodeInto(text, this.#bytes.subarray(this.#at)).written;
    return this;
  }

  /** Adds NULL to the row. */
  addNull(): this {
    this.#beginColumn(2);
    this.#bytes[this.#at++] = BACKSLASH;
    this.#bytes[this.#at++] = 0x4e;
    return this;
  }

  endRow(): void {
    this.#reserve(1);
    this.#bytes[this.#at++] = LINE_END;
    this.#isRowBegun = false;
    this.count++;
  }

  /** Removes all rows. The memory is kept for the next ones, unless most of it was not used. */
  clear(): void {
    if (this.#at < this.#bytes.length / MOSTLY_UNUSED) this.#bytes = new Uint8Array(INITIAL_BYTES);
    this.#at = 0;
    this.#isRowBegun = false;
    this.count = 0;
  }

  /** Returns all complete rows, as a view that is valid until the next call. */
  encodedRows(): Uint8Array {
    return this.#bytes.subarray(0, this.#at);
  }

  #beginColumn(size: number): void {
    this.#reserve(size + 1);
    if (this.#isRowBegun) this.#bytes[this.#at++] = TAB;
    this.#isRowBegun = true;
  }

  #reserve(size: number): void {
    const needed = this.#at + size;
    if (needed <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    larger.set(this.#bytes);
    this.#bytes = larger;
  }
}
