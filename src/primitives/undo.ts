import { ByteReader, type ByteWriter } from '../util/bytes.ts';
import type { Coin } from './coin.ts';
import { readVarBytes, writeVarBytes } from './compact-size.ts';

const POSITION_AND_VALUE = 16;

/**
 * One spent output of the undo data: position (u64), value (i64), script with its length. A block's undo data is these
 * records in input order, the coinbase left out; a transaction's share begins at a known offset and has one record an
 * input. Verify workers read the same records as the outputs their scripts spend.
 */
export function writeUndoRecord(w: ByteWriter, position: number, value: bigint, script: Uint8Array): void {
  w.u64(BigInt(position));
  w.i64(value);
  writeVarBytes(w, script);
}

function readUndoRecord(r: ByteReader): Coin {
  const position = Number(r.u64());
  const value = r.i64();
  return { position, output: { value, scriptPubKey: readVarBytes(r) } };
}

/** The scripts of all outputs that a block spent, from its undo data; views into it. */
export function* undoScripts(undo: Uint8Array): Generator<Uint8Array> {
  const r = new ByteReader(undo);
  while (r.remaining > 0) {
    r.skip(POSITION_AND_VALUE);
    yield readVarBytes(r);
  }
}

/** The coins that a transaction with this many inputs spent. */
export function readTxUndo(r: ByteReader, inputCount: number): Coin[] {
  const coins: Coin[] = [];
  for (let i = 0; i < inputCount; i++) coins.push(readUndoRecord(r));
  return coins;
}
