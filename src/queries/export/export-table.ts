/**
 * Types of columns in both formats: CSV has their texts, and Parquet the types of the same names; `string` is a BYTE_ARRAY with
 * the annotation UTF8. An `int64` is given as a number that a double holds exactly.
 */
export type ColumnType = 'int32' | 'int64' | 'boolean' | 'string';

export interface ExportColumn {
  readonly name: string;
  readonly type: ColumnType;
  readonly nullable?: boolean;
  /** Meaning and unit, for the documents. */
  readonly help: string;
}

type ExportValue = string | number | boolean | null;

/** One value for each column, in their order. */
export type ExportRow = readonly ExportValue[];

/** Receives the rows of one table. */
export interface RowWriter {
  writeRow(row: ExportRow): void;
  /** Completes the file and makes it durable. */
  finish(): void;
  /** Closes the file, which stays incomplete. */
  close(): void;
}
