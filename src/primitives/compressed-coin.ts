import { compressPoint, decompressPoint, isOnCurve } from '../crypto/points.ts';
import type { ByteReader, ByteWriter } from '../util/bytes.ts';
import { readBigVarInt, readVarInt, writeVarInt } from './var-int.ts';

/** A coin as Core stores it, with its script as a view or a new array. */
export interface CompressedCoin {
  readonly height: number;
  readonly coinbase: boolean;
  /** Satoshis, not checked. */
  readonly value: bigint;
  readonly script: Uint8Array;
}

/** Core's encodings of scripts by a number below this; larger ones are lengths. */
const SPECIAL_SCRIPTS = 6;
const MAX_SCRIPT_SIZE = 10_000;
const OP_RETURN = 0x6a;

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

/** Reads what `writeCompressedCoin` writes. Throws DecodeError at the end of the data. */
export function readCompressedCoin(r: ByteReader): CompressedCoin {
  const code = readVarInt(r);
  const value = decompressAmount(readBigVarInt(r));
  return { height: Math.floor(code / 2), coinbase: code % 2 === 1, value, script: readScript(r) };
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

/** Returns the amount of a compressed form; modulo 2^64 where no amount has it. */
export function decompressAmount(compressed: bigint): bigint {
  if (compressed === 0n) return 0n;
  let rest = compressed - 1n;
  const zeros = rest % 10n;
  rest /= 10n;
  const value = zeros < 9n ? (rest / 9n) * 10n + (rest % 9n) + 1n : rest + 1n;
  return BigInt.asIntN(64, value * 10n ** zeros);
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

function readScript(r: ByteReader): Uint8Array {
  const size = readVarInt(r);
  switch (size) {
    case 0:
      return Uint8Array.of(0x76, 0xa9, 20, ...r.bytes(20), 0x88, 0xac);
    case 1:
      return Uint8Array.of(0xa9, 20, ...r.bytes(20), 0x87);
    case 2:
    case 3:
      return Uint8Array.of(33, size, ...r.bytes(32), 0xac);
    case 4:
    case 5: {
      const key = decompressPoint(compressPoint(size - 4 === 1, r.bytes(32)));
      // Core leaves the script empty where no key has the X coordinate.
      return key === null ? new Uint8Array(0) : Uint8Array.of(65, ...key, 0xac);
    }
    default: {
      const length = size - SPECIAL_SCRIPTS;
      const script = r.bytes(length);
      // Core replaces a script above the limit, which cannot be spent anyway.
      return length > MAX_SCRIPT_SIZE ? Uint8Array.of(OP_RETURN) : script;
    }
  }
}
