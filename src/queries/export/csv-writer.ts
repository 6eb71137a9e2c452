import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import type { ExportColumn, ExportRow, RowWriter } from './export-table.ts';

const FLUSH_AT = 1 << 20;
const SPECIAL = /[",\r\n]/;

/** Writes CSV (RFC 4180) with a line of names. A null is an empty field. */
export class CsvWriter implements RowWriter {
  readonly #fd: number;
  #text = '';

  constructor(path: string, columns: readonly ExportColumn[]) {
    this.#fd = openSync(path, 'w');
    this.writeRow(columns.map(({ name }) => name));
  }

  writeRow(row: ExportRow): void {
    this.#text += `${row.map(field).join(',')}\r\n`;
    if (this.#text.length >= FLUSH_AT) this.#flush();
  }

  finish(): void {
    this.#flush();
    fsyncSync(this.#fd);
  }

  close(): void {
    closeSync(this.#fd);
  }

  #flush(): void {
    const bytes = Buffer.from(this.#text);
    for (let done = 0; done < bytes.length; ) done += writeSync(this.#fd, bytes, done);
    this.#text = '';
  }
}

function field(value: ExportRow[number]): string {
  const text = value === null ? '' : String(value);
  return SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
