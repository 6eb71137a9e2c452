import { grownRows } from '../util/column.ts';

const HASH = 32;
const OUTPOINT = 36;
const INITIAL = 256;
/** Memory of a small transaction with one input, bytes: no more of them fit into the mempool. */
const LEAST_ENTRY_BYTES = 840;
/** Rows of address space that are reserved at most. */
const MAX_RESERVE = 1 << 21;

/**
 * Columns with a row for each transaction, in shared memory. A row never changes between the message that announces it and
 * the acknowledgement of its removal.
 */
export interface TransactionColumns {
  readonly txids: Uint8Array;
  readonly wtxids: Uint8Array;
  readonly fee: Float64Array;
  /** Arrival number, and number of the event that announced the transaction. */
  readonly order: Float64Array;
  readonly seq: Float64Array;
  readonly time: Uint32Array;
  readonly weight: Uint32Array;
  readonly vsize: Uint32Array;
  readonly sigopCost: Uint32Array;
  readonly height: Uint32Array;
  readonly rawLength: Uint32Array;
  readonly spentLength: Uint32Array;
  /** Memory of the entry with all that belongs to it on both threads, bytes. */
  readonly memory: Uint32Array;
  readonly firstInput: Int32Array;
  readonly locked: Uint8Array;
  /** Number of the transaction's bytes in the arena, followed by its undo records. */
  readonly bytesAt: Float64Array;
}

/** Columns with a row for each input, in a linked list per transaction. */
export interface InputColumns {
  readonly outpoints: Uint8Array;
  readonly owner: Int32Array;
  readonly next: Int32Array;
}

/** The columns of all entries. */
export interface EntryColumns {
  readonly rows: TransactionColumns;
  readonly inputs: InputColumns;
}

/** Bytes of a row of each table. */
export const TRANSACTION_ROW_BYTES = 2 * HASH + 4 * 8 + 9 * 4 + 1;
export const INPUT_ROW_BYTES = OUTPOINT + 4 + 4;

type Column = Uint8Array | Uint32Array | Int32Array | Float64Array;

/** Returns columns for at least `rows` transactions with the rows of `from`. */
export function transactionColumns(rows = INITIAL, from?: TransactionColumns): TransactionColumns {
  const bytes = (width: number, column?: Uint8Array) => larger(Uint8Array, rows * width, column);
  const numbers = (column?: Float64Array) => larger(Float64Array, rows, column);
  const counts = (column?: Uint32Array) => larger(Uint32Array, rows, column);
  return {
    txids: bytes(HASH, from?.txids),
    wtxids: bytes(HASH, from?.wtxids),
    fee: numbers(from?.fee),
    order: numbers(from?.order),
    seq: numbers(from?.seq),
    time: counts(from?.time),
    weight: counts(from?.weight),
    vsize: counts(from?.vsize),
    sigopCost: counts(from?.sigopCost),
    height: counts(from?.height),
    rawLength: counts(from?.rawLength),
    spentLength: counts(from?.spentLength),
    memory: counts(from?.memory),
    firstInput: larger(Int32Array, rows, from?.firstInput),
    locked: bytes(1, from?.locked),
    bytesAt: numbers(from?.bytesAt),
  };
}

/** Returns columns for at least `rows` inputs with the rows of `from`. */
export function inputColumns(rows = INITIAL, from?: InputColumns): InputColumns {
  return {
    outpoints: larger(Uint8Array, rows * OUTPOINT, from?.outpoints),
    owner: larger(Int32Array, rows, from?.owner),
    next: larger(Int32Array, rows, from?.next),
  };
}

/**
 * Returns columns for as many transactions as a mempool of this size can hold. Growing would copy all columns, and both
 * copies would stay until the garbage collection of all threads.
 */
export function reservedColumns(maxMempoolBytes: number): EntryColumns {
  const rows = Math.min(MAX_RESERVE, Math.ceil(maxMempoolBytes / LEAST_ENTRY_BYTES));
  return { rows: transactionColumns(rows), inputs: inputColumns(rows) };
}

/** Returns the capacity that follows one of `rows`, so that `row` fits. */
export function capacityFor(row: number, rows: number): number {
  let capacity = rows;
  while (row >= capacity) capacity = grownRows(capacity);
  return capacity;
}

/** Pages of shared memory that nothing was written to take no memory, so a capacity in reserve costs nothing. */
function larger<C extends Column>(
  type: { new (buffer: SharedArrayBuffer): C; readonly BYTES_PER_ELEMENT: number },
  length: number,
  from?: C,
): C {
  const column = new type(new SharedArrayBuffer(length * type.BYTES_PER_ELEMENT));
  if (from) (column as Uint8Array).set(from as Uint8Array);
  return column;
}
