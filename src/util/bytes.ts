/** Thrown by decoders if bytes do not follow the format; caught where bytes enter the program. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

/**
 * Reads little-endian values from a byte array. `bytes` returns views, never copies. Throws DecodeError at the end of
 * the data.
 */
export class ByteReader {
  pos: number;
  readonly end: number;
  readonly buf: Uint8Array;
  /** Created on first use: creating it costs more than reading most small messages. */
  #view: DataView | null = null;

  constructor(buf: Uint8Array, pos = 0, end = buf.length) {
    this.buf = buf;
    this.pos = pos;
    this.end = end;
  }

  get remaining(): number {
    return this.end - this.pos;
  }

  u8(): number {
    if (this.pos >= this.end) throw new DecodeError('unexpected end of data');
    return this.buf[this.pos++]!;
  }

  u16(): number {
    const at = this.#advance(2);
    return this.buf[at]! | (this.buf[at + 1]! << 8);
  }

  u32(): number {
    return this.i32() >>> 0;
  }

  i32(): number {
    const at = this.#advance(4);
    const { buf } = this;
    return buf[at]! | (buf[at + 1]! << 8) | (buf[at + 2]! << 16) | (buf[at + 3]! << 24);
  }

  u64(): bigint {
    return this.#words().getBigUint64(this.#advance(8), true);
  }

  i64(): bigint {
    return this.#words().getBigInt64(this.#advance(8), true);
  }

  /** Returns a view of the next `length` bytes. */
  bytes(length: number): Uint8Array {
    const start = this.#advance(length);
    return this.buf.subarray(start, start + length);
  }

  skip(length: number): void {
    this.#advance(length);
  }

  #words(): DataView {
    const { buf } = this;
    return (this.#view ??= new DataView(buf.buffer, buf.byteOffset, buf.byteLength));
  }

  #advance(length: number): number {
    const start = this.pos;
    if (length > this.end - start) throw new DecodeError('unexpected end of data');
    this.pos = start + length;
    return start;
  }
}

/** Up to this many bytes are copied in a loop. */
const SHORT_COPY = 64;

/** A byte buffer that grows as it is written to; `finish` returns the bytes. */
export class ByteWriter {
  #buf: Uint8Array;
  #view: DataView;
  #length = 0;

  constructor(capacity = 256) {
    this.#buf = new Uint8Array(capacity);
    this.#view = new DataView(this.#buf.buffer);
  }

  get length(): number {
    return this.#length;
  }

  // `#grow` may replace the buffer, so it runs first.
  u8(value: number): void {
    const at = this.#grow(1);
    this.#buf[at] = value;
  }

  u16(value: number): void {
    const at = this.#grow(2);
    this.#view.setUint16(at, value, true);
  }

  u32(value: number): void {
    const at = this.#grow(4);
    this.#view.setUint32(at, value, true);
  }

  u64(value: bigint): void {
    const at = this.#grow(8);
    this.#view.setBigUint64(at, value, true);
  }

  i64(value: bigint): void {
    const at = this.#grow(8);
    this.#view.setBigInt64(at, value, true);
  }

  bytes(value: Uint8Array): void {
    const at = this.#grow(value.length);
    this.#buf.set(value, at);
  }

  /** Writes the bytes from `from` up to before `to`. A loop, since a view costs more than copying a few bytes. */
  slice(from: Uint8Array, start: number, end: number): void {
    let at = this.#grow(end - start);
    const buf = this.#buf;
    if (end - start > SHORT_COPY) buf.set(from.subarray(start, end), at);
    else for (let i = start; i < end; i++) buf[at++] = from[i]!;
  }

  /** The buffer, of which the first `length` bytes are written. Later writes may leave it behind. */
  get buffer(): Uint8Array {
    return this.#buf;
  }

  /** Returns the written bytes as a view, which later writes may leave behind. */
  finish(): Uint8Array {
    return this.#buf.subarray(0, this.#length);
  }

  /** Discards the written bytes and keeps the capacity. */
  reset(): void {
    this.#length = 0;
  }

  #grow(count: number): number {
    const start = this.#length;
    const length = start + count;
    if (length > this.#buf.length) {
      const buf = new Uint8Array(Math.max(length, this.#buf.length * 2));
      buf.set(this.#buf.subarray(0, start));
      this.#buf = buf;
      this.#view = new DataView(buf.buffer);
    }
    this.#length = length;
    return start;
  }
}

export function bytesToHex(bytes: Uint8Array): string {
  return bytes.toHex();
}

// Without groups, which are a hundred times slower, and fail to match beyond some megabytes.
const NOT_HEX = /[^0-9a-fA-F]/;

export function isHex(text: string): boolean {
  return text.length % 2 === 0 && !NOT_HEX.test(text);
}

/** Decodes hex. Throws DecodeError on an odd length or a character that is not hexadecimal. */
export function hexToBytes(hex: string): Uint8Array {
  if (hex.length % 2 !== 0) throw new DecodeError('hex of odd length');
  try {
    return Uint8Array.fromHex(hex);
  } catch {
    throw new DecodeError('not hexadecimal');
  }
}

export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

/** Compares lexicographically; returns a negative number, zero or a positive number. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}

export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const out = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
