/** The order n of secp256k1. */
export const CURVE_ORDER = 0xffffffff_ffffffff_ffffffff_fffffffe_baaedce6_af48a03b_bfd25e8c_d0364141n;

const WORD = 0xffff_ffff_ffff_ffffn;
const ORDER_BYTES = Uint8Array.fromHex(CURVE_ORDER.toString(16));
const HALF_ORDER_BYTES = Uint8Array.fromHex((CURVE_ORDER >> 1n).toString(16).padStart(64, '0'));

/** Whether the 32 big-endian bytes at `at` are n or more. */
export function isOrderOrMore(bytes: Uint8Array, at: number): boolean {
  return compareAt(bytes, at, ORDER_BYTES) >= 0;
}

/** Whether the 32 big-endian bytes at `at` are above n/2: the high S of an ECDSA signature. */
export function isHighS(bytes: Uint8Array, at: number): boolean {
  return compareAt(bytes, at, HALF_ORDER_BYTES) > 0;
}

function compareAt(bytes: Uint8Array, at: number, limit: Uint8Array): number {
  for (let i = 0; i < 32; i++) {
    const difference = bytes[at + i]! - limit[i]!;
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Whether 32 bytes are a secret key: not zero and below n. Runs in constant time. */
export function isSecretInRange(secret: Uint8Array): boolean {
  let borrow = 0;
  let bits = 0;
  for (let i = 31; i >= 0; i--) {
    bits |= secret[i]!;
    borrow = ((secret[i]! - ORDER_BYTES[i]! - borrow) >> 8) & 1;
  }
  return borrow === 1 && bits !== 0;
}

/** Reduces 32 big-endian bytes modulo n, in place and in constant time. */
export function reduceModOrder(bytes: Uint8Array): void {
  let borrow = 0;
  for (let i = 31; i >= 0; i--) borrow = ((bytes[i]! - ORDER_BYTES[i]! - borrow) >> 8) & 1;
  // 2^256 < 2n, so one subtraction is enough.
  const mask = borrow - 1;
  borrow = 0;
  for (let i = 31; i >= 0; i--) {
    const difference = bytes[i]! - (ORDER_BYTES[i]! & mask) - borrow;
    borrow = (difference >> 8) & 1;
    bytes[i] = difference;
  }
}

/** Whether first byte and length of a public key match (Core's CPubKey::IsValid). Does not check the curve. */
export function hasPublicKeyShape(key: Uint8Array): boolean {
  const prefix = key[0];
  if (prefix === 2 || prefix === 3) return key.length === 33;
  return (prefix === 4 || prefix === 6 || prefix === 7) && key.length === 65;
}

/**
 * Decodes 32 big-endian bytes. A BigInt cannot be overwritten, so it holds secrets only where there is no other way.
 */
export function bytesToBigInt(bytes: Uint8Array): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, 32);
  const high = (view.getBigUint64(0) << 64n) | view.getBigUint64(8);
  return (high << 128n) | (view.getBigUint64(16) << 64n) | view.getBigUint64(24);
}

/** Encodes a number as 32 big-endian bytes. */
export function bigIntToBytes32(value: bigint): Uint8Array {
  const bytes = new Uint8Array(32);
  const view = new DataView(bytes.buffer);
  for (let at = 24, left = value; at >= 0; at -= 8, left >>= 64n) view.setBigUint64(at, left & WORD);
  return bytes;
}
