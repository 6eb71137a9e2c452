/** One column of a table of fixed-width rows. */
export type Column =
  | Uint8Array<ArrayBuffer>
  | Uint16Array<ArrayBuffer>
  | Uint32Array<ArrayBuffer>
  | Int32Array<ArrayBuffer>
  | Float64Array<ArrayBuffer>;

const SMALL = 1 << 14;

/**
 * Returns the next capacity of a full table with `rows` rows: half as many again while it is small, an eighth more
 * later. Doubling would leave a quarter of a large table unused on average.
 */
export function grownRows(rows: number): number {
  return rows + Math.max(1, rows < SMALL ? rows >>> 1 : rows >>> 3);
}

/** Returns a copy of the column with `length` elements; the new ones are 0. */
export function grown<A extends Column>(column: A, length: number): A {
  const larger = new (column.constructor as new (length: number) => A)(length);
  larger.set(column);
  return larger;
}
