import { isOnCurve } from '../crypto/points.ts';
import type { ByteWriter } from '../util/bytes.ts';
import { writeVarInt } from './var-int.ts';

/** Core's encodings of scripts by a number below this; larger ones are lengths. */
const SPECIAL_SCRIPTS = 6;

/** Writes a coin in Core's compressed form: height and coinbase flag, amount, script. `value` is in satoshis. */
export function writeCompressedCoin(
  w: ByteWriter,
  height: number,
  coinbase: boolean,
  value: number,
  script: Uint8Array,
): void {
  writeVarInt(w, height * 2 + (coinbase ? 1 : 0));
  writeVarInt(w, compressAmount(value));
  writeScript(w, script);
}

/**
 * Returns the compressed form of an amount: round amounts become small numbers. Amounts that exceed 2^53 in this form
 * are computed with bigints.
 */
export function compressAmount(satoshis: number): number | bigint {
  if (satoshis === 0) return 0;
  let rest = satoshis;
  let zeros = 0;
  while (rest % 10 === 0 && zeros < 9) {
    rest /= 10;
    zeros++;
  }
  if (zeros === 9) return 10 + (rest - 1) * 10;
  const digit = rest % 10;
  const high = (rest - digit) / 10;
  if (high > 9e13) return 1n + (BigInt(high) * 9n + BigInt(digit - 1)) * 10n + BigInt(zeros);
  return 1 + (high * 9 + digit - 1) * 10 + zeros;
}

function writeScript(w: ByteWriter, script: Uint8Array): void {
  const { length } = script;
  if (isPayToPublicKeyHash(script)) {
    w.u8(0);
    w.bytes(script.subarray(3, 23));
  } else if (length === 23 && script[0] === 0xa9 && script[1] === 20 && script[22] === 0x87) {
    w.u8(1);
    w.bytes(script.subarray(2, 22));
  } else if (length === 35 && script[0] === 33 && script[34] === 0xac && (script[1] === 2 || script[1] === 3))
    w.bytes(script.subarray(1, 34));
  else if (
    length === 67 &&
    script[0] === 65 &&
    script[66] === 0xac &&
    script[1] === 4 &&
    // A key that is not on the curve cannot be restored from its X coordinate.
    isOnCurve(script.subarray(2, 66))
  ) {
    w.u8(4 | (script[65]! & 1));
    w.bytes(script.subarray(2, 34));
  } else {
    writeVarInt(w, length + SPECIAL_SCRIPTS);
    w.bytes(script);
  }
}

function isPayToPublicKeyHash(script: Uint8Array): boolean {
  return (
    script.length === 25 &&
    script[0] === 0x76 &&
    script[1] === 0xa9 &&
    script[2] === 20 &&
    script[23] === 0x88 &&
    script[24] === 0xac
  );
}
