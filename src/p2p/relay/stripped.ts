import type { ParsedBlock, ParsedTransaction } from '../../primitives/block.ts';
import { writeCompactSize } from '../../primitives/compact-size.ts';
import { encodeHeader } from '../../primitives/header.ts';
import { encodeTransaction } from '../../primitives/transaction.ts';
import { ByteWriter } from '../../util/bytes.ts';

/** Returns the bytes of a block without witnesses, for peers that request no witness data. */
export function strippedBlock({ header, txs, strippedSize }: ParsedBlock): Uint8Array {
  const w = new ByteWriter(strippedSize);
  encodeHeader(w, header);
  writeCompactSize(w, txs.length);
  for (const tx of txs) writeStripped(w, tx);
  return w.finish();
}

/** Returns the bytes of a transaction without witness. */
export function strippedTransaction(parsed: ParsedTransaction): Uint8Array {
  const w = new ByteWriter(parsed.strippedSize);
  writeStripped(w, parsed);
  return w.finish();
}

function writeStripped(w: ByteWriter, { tx, raw, strippedSize }: ParsedTransaction): void {
  if (raw.length === strippedSize) w.bytes(raw);
  else encodeTransaction(w, tx, { witness: false });
}
