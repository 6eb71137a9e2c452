const PRIME = (1n << 130n) - 5n;
const LIMB = 0x40_0000;
const MASK = LIMB - 1;
const INVERSE = 1 / LIMB;
/** 2^132 modulo 2^130 - 5. */
const WRAP = 20;
const WRAP_CARRY = WRAP * INVERSE;
/** The bit above the 128 bits of a whole block, in the highest limb. */
const HIGH_BIT = 1 << 18;
/** Adding and subtracting it rounds to a multiple of 2^22, since a double of this size holds no lower bits. */
const ROUND = 1.5 * 2 ** 52 * LIMB;

/**
 * Poly1305 of RFC 8439. Numbers modulo 2^130 - 5 are six limbs of 22 bits in doubles: all products of a step and their
 * sums stay below 2^53 and are exact, and there are a third as many as with limbs that fit integers.
 */
export class Poly1305 {
  readonly #r = new Float64Array(6);
  readonly #h = new Float64Array(6);
  readonly #pad: DataView;
  readonly #partial = new Uint8Array(16);
  #partialLength = 0;

  /** `key` has 32 bytes and must never be used twice. */
  constructor(key: Uint8Array) {
    const view = new DataView(key.buffer, key.byteOffset, 32);
    const [w0, w1] = [view.getUint32(0, true) & 0x0fff_ffff, view.getUint32(4, true) & 0x0fff_fffc];
    const [w2, w3] = [view.getUint32(8, true) & 0x0fff_fffc, view.getUint32(12, true) & 0x0fff_fffc];
    this.#r[0] = w0 & MASK;
    this.#r[1] = ((w0 >>> 22) | (w1 << 10)) & MASK;
    this.#r[2] = ((w1 >>> 12) | (w2 << 20)) & MASK;
    this.#r[3] = (w2 >>> 2) & MASK;
    this.#r[4] = ((w2 >>> 24) | (w3 << 8)) & MASK;
    this.#r[5] = w3 >>> 14;
    this.#pad = new DataView(key.slice(16, 32).buffer);
  }

  update(data: Uint8Array): void {
    let at = 0;
    if (this.#partialLength > 0) {
      at = Math.min(16 - this.#partialLength, data.length);
      this.#partial.set(data.subarray(0, at), this.#partialLength);
      this.#partialLength += at;
      if (this.#partialLength < 16) return;
      this.#blocks(this.#partial, 0, 16, HIGH_BIT);
      this.#partialLength = 0;
    }
    const whole = (data.length - at) & ~15;
    if (whole > 0) this.#blocks(data, at, whole, HIGH_BIT);
    at += whole;
    this.#partial.set(data.subarray(at));
    this.#partialLength = data.length - at;
  }

  /** Pads to a multiple of 16 bytes with zeros, as the AEAD does between its parts. */
  pad(): void {
    if (this.#partialLength > 0) this.update(new Uint8Array(16 - this.#partialLength));
  }

  /** Writes the tag of 16 bytes. Must be the last call. */
  finish(out: Uint8Array): void {
    if (this.#partialLength > 0) {
      this.#partial[this.#partialLength] = 1;
      this.#partial.fill(0, this.#partialLength + 1);
      this.#blocks(this.#partial, 0, 16, 0);
    }
    const words = reducedWords(this.#h);
    const view = new DataView(out.buffer, out.byteOffset, 16);
    let carry = 0;
    for (let i = 0; i < 4; i++) {
      const sum = words[i]! + this.#pad.getUint32(i * 4, true) + carry;
      view.setUint32(i * 4, sum, true);
      carry = sum > 0xffff_ffff ? 1 : 0;
    }
  }

  #blocks(data: Uint8Array, start: number, length: number, high: number): void {
    const view = new DataView(data.buffer, data.byteOffset + start, length);
    const r = this.#r;
    const h = this.#h;
    const r0 = r[0]!;
    const r1 = r[1]!;
    const r2 = r[2]!;
    const r3 = r[3]!;
    const r4 = r[4]!;
    const r5 = r[5]!;
    const q1 = r1 * WRAP;
    const q2 = r2 * WRAP;
    const q3 = r3 * WRAP;
    const q4 = r4 * WRAP;
    const q5 = r5 * WRAP;
    let h0 = h[0]!;
    let h1 = h[1]!;
    let h2 = h[2]!;
    let h3 = h[3]!;
    let h4 = h[4]!;
    let h5 = h[5]!;
    for (let at = 0; at < length; at += 16) {
      const w0 = view.getInt32(at, true);
      const w1 = view.getInt32(at + 4, true);
      const w2 = view.getInt32(at + 8, true);
      const w3 = view.getInt32(at + 12, true);
      h0 += w0 & MASK;
      h1 += ((w0 >>> 22) | (w1 << 10)) & MASK;
      h2 += ((w1 >>> 12) | (w2 << 20)) & MASK;
      h3 += (w2 >>> 2) & MASK;
      h4 += ((w2 >>> 24) | (w3 << 8)) & MASK;
      h5 += (w3 >>> 14) | high;

      // All limbs carry at once and once more: these steps depend less on each other than a chain of six.
      const d0 = h0 * r0 + h1 * q5 + h2 * q4 + h3 * q3 + h4 * q2 + h5 * q1;
      const d1 = h0 * r1 + h1 * r0 + h2 * q5 + h3 * q4 + h4 * q3 + h5 * q2;
      const d2 = h0 * r2 + h1 * r1 + h2 * r0 + h3 * q5 + h4 * q4 + h5 * q3;
      const d3 = h0 * r3 + h1 * r2 + h2 * r1 + h3 * r0 + h4 * q5 + h5 * q4;
      const d4 = h0 * r4 + h1 * r3 + h2 * r2 + h3 * r1 + h4 * r0 + h5 * q5;
      const d5 = h0 * r5 + h1 * r4 + h2 * r3 + h3 * r2 + h4 * r1 + h5 * r0;
      const c0 = d0 + ROUND - ROUND;
      const c1 = d1 + ROUND - ROUND;
      const c2 = d2 + ROUND - ROUND;
      const c3 = d3 + ROUND - ROUND;
      const c4 = d4 + ROUND - ROUND;
      const c5 = d5 + ROUND - ROUND;
      const e0 = d0 - c0 + c5 * WRAP_CARRY;
      const e1 = d1 - c1 + c0 * INVERSE;
      const e2 = d2 - c2 + c1 * INVERSE;
      const e3 = d3 - c3 + c2 * INVERSE;
      const e4 = d4 - c4 + c3 * INVERSE;
      const e5 = d5 - c5 + c4 * INVERSE;
      const f0 = e0 + ROUND - ROUND;
      const f1 = e1 + ROUND - ROUND;
      const f2 = e2 + ROUND - ROUND;
      const f3 = e3 + ROUND - ROUND;
      const f4 = e4 + ROUND - ROUND;
      const f5 = e5 + ROUND - ROUND;
      h0 = e0 - f0 + f5 * WRAP_CARRY;
      h1 = e1 - f1 + f0 * INVERSE;
      h2 = e2 - f2 + f1 * INVERSE;
      h3 = e3 - f3 + f2 * INVERSE;
      h4 = e4 - f4 + f3 * INVERSE;
      h5 = e5 - f5 + f4 * INVERSE;
    }
    h[0] = h0;
    h[1] = h1;
    h[2] = h2;
    h[3] = h3;
    h[4] = h4;
    h[5] = h5;
  }
}

/** Returns the low 128 bits of the number modulo 2^130 - 5 as four words. Limbs may be negative. */
function reducedWords(limbs: Float64Array): Uint32Array {
  let value = 0n;
  for (let i = 5; i >= 0; i--) value = value * BigInt(LIMB) + BigInt(limbs[i]!);
  value %= PRIME;
  if (value < 0n) value += PRIME;
  return new Uint32Array(
    new BigUint64Array([value & 0xffff_ffff_ffff_ffffn, (value >> 64n) & 0xffff_ffff_ffff_ffffn]).buffer,
  );
}
