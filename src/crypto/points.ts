import { Point } from '@noble/secp256k1';
import { bytesToBigInt } from './curve.ts';

/** The field size p of secp256k1. */
const P = 0xffffffff_ffffffff_ffffffff_ffffffff_ffffffff_ffffffff_fffffffe_fffffc2fn;

/** Whether the 64 bytes of an X and a Y coordinate are a point of the curve. */
export function isOnCurve(coordinates: Uint8Array): boolean {
  const x = bytesToBigInt(coordinates.subarray(0, 32));
  const y = bytesToBigInt(coordinates.subarray(32, 64));
  return x < P && y < P && (y * y - x * x * x - 7n) % P === 0n;
}

/** Returns the 33 bytes of a compressed key. */
export function compressPoint(odd: boolean, x: Uint8Array): Uint8Array {
  return Uint8Array.of(odd ? 3 : 2, ...x);
}

/** Returns the 65 bytes of a compressed key; null where no point has its X coordinate. */
export function decompressPoint(compressed: Uint8Array): Uint8Array | null {
  try {
    return Point.fromBytes(compressed).toBytes(false);
  } catch {
    return null;
  }
}
