import type { Database, SQLQueryBindings, Statement } from 'bun:sqlite';
import { noteProgress } from '../util/progress.ts';

const ROWS = 32;

/** Collects rows and inserts 32 with one statement, which measured nearly twice as fast as one row at a time. */
export class BulkInsert {
  readonly #many: Statement;
  readonly #one: Statement;
  readonly #width: number;
  readonly #params: SQLQueryBindings[];
  #used = 0;

  constructor(
    db: Database,
    table: string,
    columns: readonly string[],
    verb: 'INSERT' | 'INSERT OR REPLACE' = 'INSERT',
  ) {
    const row = `(${columns.map(() => '?').join(', ')})`;
    const head = `${verb} INTO ${table} (${columns.join(', ')}) VALUES `;
    this.#many = db.prepare(head + Array(ROWS).fill(row).join(', '));
    this.#one = db.prepare(head + row);
    this.#width = columns.length;
    this.#params = new Array(ROWS * columns.length).fill(null);
  }

  add2(a: SQLQueryBindings, b: SQLQueryBindings): void {
    const at = this.#used;
    this.#params[at] = a;
    this.#params[at + 1] = b;
    this.#advance(2);
  }

  add4(a: SQLQueryBindings, b: SQLQueryBindings, c: SQLQueryBindings, d: SQLQueryBindings): void {
    const at = this.#used;
    this.#params[at] = a;
    this.#params[at + 1] = b;
    this.#params[at + 2] = c;
    this.#params[at + 3] = d;
    this.#advance(4);
  }

  /** Inserts the remaining rows. */
  finish(): void {
    for (let at = 0; at < this.#used; at += this.#width) this.#one.run(...this.#params.slice(at, at + this.#width));
    this.#used = 0;
  }

  #advance(width: number): void {
    this.#used += width;
    if (this.#used < this.#params.length) return;
    this.#many.run(...this.#params);
    // A commit during initial block download has hundreds of thousands of rows.
    noteProgress();
    this.#used = 0;
  }
}
