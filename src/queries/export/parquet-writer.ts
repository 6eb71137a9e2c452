import { fileWriter, ParquetWriter } from 'hyparquet-writer';
import { syncFile } from '../../util/sync-directory.ts';
import type { ColumnType, ExportColumn, ExportRow, RowWriter } from './export-table.ts';

/** Rows and bytes of texts that one row group has at most; a group is in memory until it is written. */
const GROUP_ROWS = 50_000;
const GROUP_TEXT = 32 << 20;

const TYPES = {
  int32: { type: 'INT32' },
  int64: { type: 'INT64' },
  boolean: { type: 'BOOLEAN' },
  string: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
} as const satisfies Record<ColumnType, object>;

type Cell = string | number | bigint | boolean | null;

/** Writes a Parquet file, one row group after the other. */
export class ParquetRowWriter implements RowWriter {
  readonly #path: string;
  readonly #columns: readonly ExportColumn[];
  readonly #writer: ParquetWriter;
  #cells: Cell[][];
  #rows = 0;
  #text = 0;

  constructor(path: string, columns: readonly ExportColumn[], createdBy: string) {
    this.#path = path;
    this.#columns = columns;
    this.#cells = columns.map(() => []);
    this.#writer = new ParquetWriter({
      writer: fileWriter(path),
      schema: [
        { name: 'root', num_children: columns.length },
        ...columns.map(({ name, type, nullable = false }) => ({
          ...{ name, ...TYPES[type], repetition_type: nullable ? ('OPTIONAL' as const) : ('REQUIRED' as const) },
        })),
      ],
      createdBy,
    });
  }

  writeRow(row: ExportRow): void {
    for (const [i, { type }] of this.#columns.entries()) {
      const value = row[i]!;
      if (typeof value === 'string') this.#text += value.length;
      this.#cells[i]!.push(type === 'int64' && value !== null ? BigInt(value) : value);
    }
    if (++this.#rows >= GROUP_ROWS || this.#text >= GROUP_TEXT) this.#writeGroup();
  }

  finish(): void {
    this.#writeGroup();
    this.#writer.finish();
    syncFile(this.#path);
  }

  /** The library has the file open only while it writes. */
  close(): void {
    this.#cells = [];
  }

  #writeGroup(): void {
    if (this.#rows === 0) return;
    const columnData = this.#columns.map(({ name }, i) => ({ name, data: this.#cells[i]! }));
    this.#writer.write({ columnData, rowGroupSize: this.#rows });
    this.#cells = this.#columns.map(() => []);
    this.#rows = 0;
    this.#text = 0;
  }
}
