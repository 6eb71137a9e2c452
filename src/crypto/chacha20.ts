const BLOCK = 64;

/**
 * ChaCha20 of RFC 8439: 32-byte key, 96-bit nonce, 32-bit block counter. The nonce is a 32-bit number and a 64-bit one,
 * both little-endian, as in BIP-324.
 */
export class ChaCha20 {
  /** State words: the key in 4 to 11, the block counter in 12, the nonce in 13 to 15. */
  readonly #state = new Int32Array(16);
  readonly #block = new Uint8Array(BLOCK);
  /** Number of unused bytes of `#block`. */
  #left = 0;

  constructor(key: Uint8Array) {
    this.setKey(key);
  }

  /** Replaces the key and seeks to block 0 with a nonce of zero. */
  setKey(key: Uint8Array): void {
    const view = new DataView(key.buffer, key.byteOffset, 32);
    this.#state.set([0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]);
    for (let i = 0; i < 8; i++) this.#state[4 + i] = view.getInt32(i * 4, true);
    this.seek(0, 0, 0);
  }

  /** Overwrites the key and the key stream; the object cannot be used afterwards. */
  wipe(): void {
    this.#state.fill(0);
    this.#block.fill(0);
    this.#left = 0;
  }

  /** Seeks to the start of a block. `second` is a number below 2^53, and so exact. */
  seek(first: number, second: number, block: number): void {
    this.#state[12] = block;
    this.#state[13] = first;
    this.#state[14] = second % 0x1_0000_0000;
    this.#state[15] = second / 0x1_0000_0000;
    this.#left = 0;
  }

  /**
   * Encrypts or decrypts `input` into `output`, which is at least as long and may be the same array. Continues the
   * stream of the previous call.
   */
  crypt(input: Uint8Array, output: Uint8Array): void {
    let at = 0;
    const { length } = input;
    if (this.#left > 0) at = this.#cryptRest(input, output, 0);
    const whole = (length - at) & ~(BLOCK - 1);
    if (whole > 0) {
      const from = new DataView(input.buffer, input.byteOffset + at, whole);
      const to = new DataView(output.buffer, output.byteOffset + at, whole);
      xorBlocks(this.#state, from, to, whole);
      at += whole;
    }
    if (at < length) {
      this.#nextBlock();
      this.#cryptRest(input, output, at);
    }
  }

  /** Overwrites `output` with key stream. */
  keyStream(output: Uint8Array): void {
    output.fill(0);
    this.crypt(output, output);
  }

  #nextBlock(): void {
    this.#block.fill(0);
    const view = new DataView(this.#block.buffer);
    xorBlocks(this.#state, view, view, BLOCK);
    this.#left = BLOCK;
  }

  #cryptRest(input: Uint8Array, output: Uint8Array, at: number): number {
    const end = Math.min(input.length, at + this.#left);
    const block = this.#block;
    let from = BLOCK - this.#left;
    this.#left -= end - at;
    for (let i = at; i < end; i++) output[i] = input[i]! ^ block[from++]!;
    return end;
  }
}

/**
 * Writes the key stream of ChaCha20 (64-bit block counter from zero, 64-bit nonce of zero) to `out`, whose length is a
 * multiple of 64 and below 256 GiB. `key` has 32 bytes.
 */
export function chacha20KeyStream(key: Uint8Array, out: Uint8Array): void {
  new ChaCha20(key).keyStream(out);
}

/**
 * Encrypts whole blocks; `length` is a multiple of 64. The state is in variables, since an array of 16 words takes
 * twice as long.
 */
function xorBlocks(state: Int32Array, input: DataView, output: DataView, length: number): void {
  const s0 = state[0]!;
  const s1 = state[1]!;
  const s2 = state[2]!;
  const s3 = state[3]!;
  const s4 = state[4]!;
  const s5 = state[5]!;
  const s6 = state[6]!;
  const s7 = state[7]!;
  const s8 = state[8]!;
  const s9 = state[9]!;
  const s10 = state[10]!;
  const s11 = state[11]!;
  let s12 = state[12]!;
  const s13 = state[13]!;
  const s14 = state[14]!;
  const s15 = state[15]!;
  for (let at = 0; at < length; at += BLOCK) {
    let x0 = s0;
    let x1 = s1;
    let x2 = s2;
    let x3 = s3;
    let x4 = s4;
    let x5 = s5;
    let x6 = s6;
    let x7 = s7;
    let x8 = s8;
    let x9 = s9;
    let x10 = s10;
    let x11 = s11;
    let x12 = s12;
    let x13 = s13;
    let x14 = s14;
    let x15 = s15;
    for (let round = 0; round < 10; round++) {
      x0 = (x0 + x4) | 0;
      x12 ^= x0;
      x12 = (x12 << 16) | (x12 >>> 16);
      x8 = (x8 + x12) | 0;
      x4 ^= x8;
      x4 = (x4 << 12) | (x4 >>> 20);
      x0 = (x0 + x4) | 0;
      x12 ^= x0;
      x12 = (x12 << 8) | (x12 >>> 24);
      x8 = (x8 + x12) | 0;
      x4 ^= x8;
      x4 = (x4 << 7) | (x4 >>> 25);
      x1 = (x1 + x5) | 0;
      x13 ^= x1;
      x13 = (x13 << 16) | (x13 >>> 16);
      x9 = (x9 + x13) | 0;
      x5 ^= x9;
      x5 = (x5 << 12) | (x5 >>> 20);
      x1 = (x1 + x5) | 0;
      x13 ^= x1;
      x13 = (x13 << 8) | (x13 >>> 24);
      x9 = (x9 + x13) | 0;
      x5 ^= x9;
      x5 = (x5 << 7) | (x5 >>> 25);
      x2 = (x2 + x6) | 0;
      x14 ^= x2;
      x14 = (x14 << 16) | (x14 >>> 16);
      x10 = (x10 + x14) | 0;
      x6 ^= x10;
      x6 = (x6 << 12) | (x6 >>> 20);
      x2 = (x2 + x6) | 0;
      x14 ^= x2;
      x14 = (x14 << 8) | (x14 >>> 24);
      x10 = (x10 + x14) | 0;
      x6 ^= x10;
      x6 = (x6 << 7) | (x6 >>> 25);
      x3 = (x3 + x7) | 0;
      x15 ^= x3;
      x15 = (x15 << 16) | (x15 >>> 16);
      x11 = (x11 + x15) | 0;
      x7 ^= x11;
      x7 = (x7 << 12) | (x7 >>> 20);
      x3 = (x3 + x7) | 0;
      x15 ^= x3;
      x15 = (x15 << 8) | (x15 >>> 24);
      x11 = (x11 + x15) | 0;
      x7 ^= x11;
      x7 = (x7 << 7) | (x7 >>> 25);
      x0 = (x0 + x5) | 0;
      x15 ^= x0;
      x15 = (x15 << 16) | (x15 >>> 16);
      x10 = (x10 + x15) | 0;
      x5 ^= x10;
      x5 = (x5 << 12) | (x5 >>> 20);
      x0 = (x0 + x5) | 0;
      x15 ^= x0;
      x15 = (x15 << 8) | (x15 >>> 24);
      x10 = (x10 + x15) | 0;
      x5 ^= x10;
      x5 = (x5 << 7) | (x5 >>> 25);
      x1 = (x1 + x6) | 0;
      x12 ^= x1;
      x12 = (x12 << 16) | (x12 >>> 16);
      x11 = (x11 + x12) | 0;
      x6 ^= x11;
      x6 = (x6 << 12) | (x6 >>> 20);
      x1 = (x1 + x6) | 0;
      x12 ^= x1;
      x12 = (x12 << 8) | (x12 >>> 24);
      x11 = (x11 + x12) | 0;
      x6 ^= x11;
      x6 = (x6 << 7) | (x6 >>> 25);
      x2 = (x2 + x7) | 0;
      x13 ^= x2;
      x13 = (x13 << 16) | (x13 >>> 16);
      x8 = (x8 + x13) | 0;
      x7 ^= x8;
      x7 = (x7 << 12) | (x7 >>> 20);
      x2 = (x2 + x7) | 0;
      x13 ^= x2;
      x13 = (x13 << 8) | (x13 >>> 24);
      x8 = (x8 + x13) | 0;
      x7 ^= x8;
      x7 = (x7 << 7) | (x7 >>> 25);
      x3 = (x3 + x4) | 0;
      x14 ^= x3;
      x14 = (x14 << 16) | (x14 >>> 16);
      x9 = (x9 + x14) | 0;
      x4 ^= x9;
      x4 = (x4 << 12) | (x4 >>> 20);
      x3 = (x3 + x4) | 0;
      x14 ^= x3;
      x14 = (x14 << 8) | (x14 >>> 24);
      x9 = (x9 + x14) | 0;
      x4 ^= x9;
      x4 = (x4 << 7) | (x4 >>> 25);
    }
    output.setInt32(at, input.getInt32(at, true) ^ (x0 + s0), true);
    output.setInt32(at + 4, input.getInt32(at + 4, true) ^ (x1 + s1), true);
    output.setInt32(at + 8, input.getInt32(at + 8, true) ^ (x2 + s2), true);
    output.setInt32(at + 12, input.getInt32(at + 12, true) ^ (x3 + s3), true);
    output.setInt32(at + 16, input.getInt32(at + 16, true) ^ (x4 + s4), true);
    output.setInt32(at + 20, input.getInt32(at + 20, true) ^ (x5 + s5), true);
    output.setInt32(at + 24, input.getInt32(at + 24, true) ^ (x6 + s6), true);
    output.setInt32(at + 28, input.getInt32(at + 28, true) ^ (x7 + s7), true);
    output.setInt32(at + 32, input.getInt32(at + 32, true) ^ (x8 + s8), true);
    output.setInt32(at + 36, input.getInt32(at + 36, true) ^ (x9 + s9), true);
    output.setInt32(at + 40, input.getInt32(at + 40, true) ^ (x10 + s10), true);
    output.setInt32(at + 44, input.getInt32(at + 44, true) ^ (x11 + s11), true);
    output.setInt32(at + 48, input.getInt32(at + 48, true) ^ (x12 + s12), true);
    output.setInt32(at + 52, input.getInt32(at + 52, true) ^ (x13 + s13), true);
    output.setInt32(at + 56, input.getInt32(at + 56, true) ^ (x14 + s14), true);
    output.setInt32(at + 60, input.getInt32(at + 60, true) ^ (x15 + s15), true);
    s12 = (s12 + 1) | 0;
  }
  state[12] = s12;
}
