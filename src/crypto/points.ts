import { bytesToBigInt } from './curve.ts';

/** The field size p of secp256k1. */
const P = 0xffffffff_ffffffff_ffffffff_ffffffff_ffffffff_ffffffff_fffffffe_fffffc2fn;

/** Whether the 64 bytes of an X and a Y coordinate are a point of the curve. */
export function isOnCurve(coordinates: Uint8Array): boolean {
  const x = bytesToBigInt(coordinates.subarray(0, 32));
  const y = bytesToBigInt(coordinates.subarray(32, 64));
  return x < P && y < P && (y * y - x * x * x - 7n) % P === 0n;
}
