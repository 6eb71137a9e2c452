import { ByteReader, type ByteWriter } from '../util/bytes.ts';
import type { Coin } from './coin.ts';
import { readVarBytes, writeCompactSize, writeVarBytes } from './compact-size.ts';

const POSITION_SIZE = 8;
const POSITION_AND_VALUE = 16;

/**
 * Writes one spent output: position (u64), value (i64), script with its length. The undo data of a block is these
 * records in input order without the coinbase; the records of a transaction begin at a known offset, one for each
 * input. Verify workers read the same records as the spent outputs.
 */
export function writeUndoRecord(w: ByteWriter, position: number, value: bigint, script: Uint8Array): void {
  w.u64(BigInt(position));
  w.i64(value);
  writeVarBytes(w, script);
}

/** As `writeUndoRecord`, for a value that is not negative and a script that is `bytes` from `from` up to before `to`. */
export function writeUndoRecordAt(
  w: ByteWriter,
  position: number,
  value: number,
  bytes: Uint8Array,
  from: number,
  to: number,
): void {
  writeNumber(w, position);
  writeNumber(w, value);
  writeCompactSize(w, to - from);
  w.slice(bytes, from, to);
}

/** Writes a non-negative integer below 2^53 as 64 bits; a bigint would cost several times more. */
function writeNumber(w: ByteWriter, value: number): void {
  w.u32(value >>> 0);
  w.u32(Math.floor(value / 0x1_0000_0000));
}

function readUndoRecord(r: ByteReader): Coin {
  const position = Number(r.u64());
  const value = r.i64();
  return { position, output: { value, scriptPubKey: readVarBytes(r) } };
}

/** Moves a reader from the beginning of an undo record to the value. */
export function skipUndoPosition(r: ByteReader): void {
  r.skip(POSITION_SIZE);
}

/** Yields the scripts of all outputs that a block spent, as views into its undo data. */
export function* undoScripts(undo: Uint8Array): Generator<Uint8Array> {
  const r = new ByteReader(undo);
  while (r.remaining > 0) {
    r.skip(POSITION_AND_VALUE);
    yield readVarBytes(r);
  }
}

/** Reads the coins that a transaction with this many inputs spent. */
export function readTxUndo(r: ByteReader, inputCount: number): Coin[] {
  const coins: Coin[] = [];
  for (let i = 0; i < inputCount; i++) coins.push(readUndoRecord(r));
  return coins;
}
