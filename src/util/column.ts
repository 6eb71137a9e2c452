/** Numbers or bytes of a table, one row behind the other. */
export type Column =
  | Uint8Array<ArrayBuffer>
  | Uint16Array<ArrayBuffer>
  | Uint32Array<ArrayBuffer>
  | Int32Array<ArrayBuffer>
  | Float64Array<ArrayBuffer>;

const SMALL = 1 << 14;

/**
 * Rows that a full table of `rows` is to have next: by half more while it is small, by an eighth afterwards. Twice as
 * many would leave a quarter of a large one unused on average.
 */
export function grownRows(rows: number): number {
  return rows + Math.max(1, rows < SMALL ? rows >>> 1 : rows >>> 3);
}

/** The column with `length` elements, the new ones 0. */
export function grown<A extends Column>(column: A, length: number): A {
  const larger = new (column.constructor as new (length: number) => A)(length);
  larger.set(column);
  return larger;
}
