/** Order of the group of secp256k1. */
export const CURVE_ORDER = 0xffffffff_ffffffff_ffffffff_fffffffe_baaedce6_af48a03b_bfd25e8c_d0364141n;

const ORDER_BYTES = Uint8Array.fromHex(CURVE_ORDER.toString(16));
const HALF_ORDER_BYTES = Uint8Array.fromHex((CURVE_ORDER >> 1n).toString(16).padStart(64, '0'));

/** Whether the 32 big-endian bytes at `at` are n or more. */
export function isOrderOrMore(bytes: Uint8Array, at: number): boolean {
  return compareAt(bytes, at, ORDER_BYTES) >= 0;
}

/** Whether the 32 big-endian bytes at `at` are above n/2: as the S of an ECDSA signature, the malleable one of the pair. */
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

/** Core's CPubKey::IsValid: the first byte and the length belong together. Says nothing about the curve. */
export function hasPublicKeyShape(key: Uint8Array): boolean {
  const prefix = key[0];
  if (prefix === 2 || prefix === 3) return key.length === 33;
  return (prefix === 4 || prefix === 6 || prefix === 7) && key.length === 65;
}

export function bytesToBigInt(bytes: Uint8Array): bigint {
  return BigInt(`0x${bytes.toHex()}`);
}

/** Big-endian, 32 bytes. */
export function bigIntToBytes32(value: bigint): Uint8Array {
  return Uint8Array.fromHex(value.toString(16).padStart(64, '0'));
}
