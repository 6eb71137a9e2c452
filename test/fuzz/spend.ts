import { readVector, writeVector } from '../../src/primitives/compact-size.ts';
import {
  decodeOutput,
  decodeTransaction,
  encodeOutput,
  encodeTransaction,
  type Transaction,
  type TxOutput,
} from '../../src/primitives/transaction.ts';
import { ByteReader, ByteWriter, DecodeError } from '../../src/util/bytes.ts';

/** One input of a transaction with everything that determines its validity: a case of the script verifier. */
export interface Spend {
  readonly flags: number;
  readonly index: number;
  readonly tx: Transaction;
  readonly spent: readonly TxOutput[];
}

/** Encodes flags and index, 4 bytes each, the transaction, and the outputs that it spends. */
export function encodeSpend({ flags, index, tx, spent }: Spend): Uint8Array {
  const w = new ByteWriter();
  w.u32(flags);
  w.u32(index);
  encodeTransaction(w, tx, { witness: true });
  writeVector(w, spent, encodeOutput);
  return w.finish();
}

/** Throws DecodeError where the bytes are none, or the outputs are not as many as the inputs. */
export function decodeSpend(bytes: Uint8Array): Spend {
  const r = new ByteReader(bytes);
  const flags = r.u32();
  const index = r.u32();
  const tx = decodeTransaction(r);
  const spent = readVector(r, decodeOutput);
  if (spent.length !== tx.inputs.length || spent.length === 0) throw new DecodeError('not one output an input');
  return { flags, index: index % spent.length, tx, spent };
}
