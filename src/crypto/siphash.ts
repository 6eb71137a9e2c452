/** A 128-bit key as four 32-bit words: k0 low, k0 high, k1 low, k1 high. */
export type SipHashKey = Int32Array;

export function sipHashKey(k0: bigint, k1: bigint): SipHashKey {
  return new Int32Array(new BigUint64Array([k0, k1]).buffer);
}

/** Returns the key in the first 16 bytes, each half little-endian, as BIP-152 and BIP-158 derive it from a hash. */
export function sipHashKeyOf(bytes: Uint8Array): SipHashKey {
  const view = new DataView(bytes.buffer, bytes.byteOffset, 16);
  return Int32Array.of(view.getInt32(0, true), view.getInt32(4, true), view.getInt32(8, true), view.getInt32(12, true));
}

/** Scratch space of one call. */
const words = new Uint32Array(2);

/** Returns SipHash-2-4 of `data` as an unsigned 64-bit number. */
export function sipHash(key: SipHashKey, data: Uint8Array): bigint {
  sipHashWords(key, data, words);
  return (BigInt(words[1]!) << 32n) | BigInt(words[0]!);
}

/** Writes SipHash-2-4 to `out` as two words, the low one first, without a bigint. */
export function sipHashWords(key: SipHashKey, data: Uint8Array, out: Uint32Array): void {
  const [k0, k1, k2, k3] = [key[0]!, key[1]!, key[2]!, key[3]!];
  // The halves of the four 64-bit state words: a low, A high, and so on.
  let a = k0 ^ 0x7073_6575;
  let A = k1 ^ 0x736f_6d65;
  let b = k2 ^ 0x6e64_6f6d;
  let B = k3 ^ 0x646f_7261;
  let c = k0 ^ 0x6e65_7261;
  let C = k1 ^ 0x6c79_6765;
  let d = k2 ^ 0x7974_6573;
  let D = k3 ^ 0x7465_6462;
  const { length } = data;
  const blocksEnd = length & ~7;
  // One iteration for each block of 8 bytes, of which the last holds the length, and one for the finalization.
  for (let at = 0; at <= blocksEnd + 8; at += 8) {
    let m = 0;
    let M = 0;
    let rounds = 2;
    if (at < blocksEnd) {
      m = data[at]! | (data[at + 1]! << 8) | (data[at + 2]! << 16) | (data[at + 3]! << 24);
      M = data[at + 4]! | (data[at + 5]! << 8) | (data[at + 6]! << 16) | (data[at + 7]! << 24);
    } else if (at === blocksEnd) {
      for (let i = at; i < length; i++) {
        if (i < at + 4) m |= data[i]! << ((i - at) * 8);
        else M |= data[i]! << ((i - at - 4) * 8);
      }
      M |= length << 24;
    } else {
      c ^= 0xff;
      rounds = 4;
    }
    d ^= m;
    D ^= M;
    for (; rounds > 0; rounds--) {
      let low = (a + b) | 0;
      A = (A + B + (low >>> 0 < a >>> 0 ? 1 : 0)) | 0;
      a = low;
      low = b;
      b = (b << 13) | (B >>> 19);
      B = (B << 13) | (low >>> 19);
      b ^= a;
      B ^= A;
      low = a;
      a = A;
      A = low;

      low = (c + d) | 0;
      C = (C + D + (low >>> 0 < c >>> 0 ? 1 : 0)) | 0;
      c = low;
      low = d;
      d = (d << 16) | (D >>> 16);
      D = (D << 16) | (low >>> 16);
      d ^= c;
      D ^= C;

      low = (a + d) | 0;
      A = (A + D + (low >>> 0 < a >>> 0 ? 1 : 0)) | 0;
      a = low;
      low = d;
      d = (d << 21) | (D >>> 11);
      D = (D << 21) | (low >>> 11);
      d ^= a;
      D ^= A;

      low = (c + b) | 0;
      C = (C + B + (low >>> 0 < c >>> 0 ? 1 : 0)) | 0;
      c = low;
      low = b;
      b = (b << 17) | (B >>> 15);
      B = (B << 17) | (low >>> 15);
      b ^= c;
      B ^= C;
      low = c;
      c = C;
      C = low;
    }
    a ^= m;
    A ^= M;
  }
  out[0] = a ^ b ^ c ^ d;
  out[1] = A ^ B ^ C ^ D;
}
