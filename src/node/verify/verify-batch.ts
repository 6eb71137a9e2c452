import { EncodedTxContext } from '../../script/encoded-tx-context.ts';
import { ByteReader, ByteWriter } from '../../util/bytes.ts';

/** The id of the message that a worker sends when it has loaded its modules. */
export const READY = 0;

/**
 * Writes script checks for a worker as bytes, because objects are slow to clone: the flags, then for each transaction
 * its index in the block, the lengths of its encoding and of the undo records of its inputs, and both. Lengths are plain
 * numbers, since the spent outputs of a small transaction may exceed every limit of the wire format.
 */
export class VerifyBatchWriter {
  readonly #w = new ByteWriter(1 << 16);
  #inputs = 0;

  /** Inputs added since `begin`. */
  get inputs(): number {
    return this.#inputs;
  }

  get bytes(): number {
    return this.#w.length;
  }

  begin(flags: number): void {
    this.#w.reset();
    this.#w.u32(flags);
    this.#inputs = 0;
  }

  /** `raw`: the encoding of a transaction with witness. `spent`: one undo record for each input. */
  add(tx: number, inputs: number, raw: ByteRange, spent: ByteRange): void {
    this.#w.u32(tx);
    this.#w.u32(raw.to - raw.from);
    this.#w.u32(spent.to - spent.from);
    this.#w.slice(raw.bytes, raw.from, raw.to);
    this.#w.slice(spent.bytes, spent.from, spent.to);
    this.#inputs += inputs;
  }

  /** Returns the batch in memory of its own. */
  finish(): Uint8Array<ArrayBuffer> {
    return this.#w.finish().slice();
  }
}

/** The bytes from `from` up to before `to`. */
export interface ByteRange {
  readonly bytes: Uint8Array;
  readonly from: number;
  readonly to: number;
}

export interface VerifyItem {
  /** Index of the transaction in its block, as it was added. */
  readonly tx: number;
  readonly context: EncodedTxContext;
}

/** Reads the flags and the items of a batch. */
export function readVerifyBatch(bytes: Uint8Array): { flags: number; items: Generator<VerifyItem> } {
  const r = new ByteReader(bytes);
  return { flags: r.u32(), items: readItems(r) };
}

function* readItems(r: ByteReader): Generator<VerifyItem> {
  while (r.remaining > 0) yield { tx: r.u32(), context: readContext(r) };
}

/** Writes one large transaction into shared memory, so that several workers can verify some of its inputs each. */
export function shareTransaction(raw: Uint8Array, spent: Uint8Array): SharedArrayBuffer {
  const shared = new SharedArrayBuffer(8 + raw.length + spent.length);
  const w = new ByteWriter(shared.byteLength);
  w.u32(raw.length);
  w.u32(spent.length);
  w.bytes(raw);
  w.bytes(spent);
  new Uint8Array(shared).set(w.finish());
  return shared;
}

/** The bytes are copied, since the hash functions do not accept shared memory. */
export function readSharedTransaction(shared: SharedArrayBuffer): EncodedTxContext {
  return readContext(new ByteReader(new Uint8Array(shared).slice()));
}

function readContext(r: ByteReader): EncodedTxContext {
  const rawSize = r.u32();
  const spentSize = r.u32();
  const at = r.pos;
  r.skip(rawSize + spentSize);
  return new EncodedTxContext(r.buf, at, at + rawSize);
}
