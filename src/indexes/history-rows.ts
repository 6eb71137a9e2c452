import type { TxPosition } from '../primitives/coin.ts';

const NONE = 0xffff_ffff;
const INITIAL_ROWS = 1024;

/** Rows of (script, position, received, sent) in typed arrays; one for each script and transaction. */
export class HistoryRows {
  #script = new Uint32Array(INITIAL_ROWS);
  #position = new Float64Array(INITIAL_ROWS);
  #received = new Float64Array(INITIAL_ROWS);
  #sent = new Float64Array(INITIAL_ROWS);
  #length = 0;
  /** The last row of each script, so that all changes by one transaction become one row. */
  #lastRow = new Uint32Array(INITIAL_ROWS).fill(NONE);

  get length(): number {
    return this.#length;
  }

  /** Adds amounts to the row of a script and transaction; creates the row if necessary. */
  add(script: number, position: TxPosition, received: number, sent: number): void {
    if (script >= this.#lastRow.length) {
      const lastRow = new Uint32Array(Math.max(script + 1, this.#lastRow.length * 2)).fill(NONE);
      lastRow.set(this.#lastRow);
      this.#lastRow = lastRow;
    }
    const last = this.#lastRow[script]!;
    if (last < this.#length && this.#script[last] === script && this.#position[last] === position) {
      this.#received[last] = this.#received[last]! + received;
      this.#sent[last] = this.#sent[last]! + sent;
      return;
    }
    const row = this.#length++;
    if (row === this.#script.length) this.#grow();
    this.#script[row] = script;
    this.#position[row] = position;
    this.#received[row] = received;
    this.#sent[row] = sent;
    this.#lastRow[script] = row;
  }

  /** Removes all rows. The arrays are kept unless they were far too large. */
  clear(): void {
    if (this.#script.length > Math.max(INITIAL_ROWS, this.#length * 8)) {
      this.#script = new Uint32Array(INITIAL_ROWS);
      this.#position = new Float64Array(INITIAL_ROWS);
      this.#received = new Float64Array(INITIAL_ROWS);
      this.#sent = new Float64Array(INITIAL_ROWS);
      this.#lastRow = new Uint32Array(INITIAL_ROWS).fill(NONE);
    } else this.#lastRow.fill(NONE);
    this.#length = 0;
  }

  cutTo(length: number): void {
    this.#length = length;
  }

  each(visit: (script: number, position: TxPosition, received: number, sent: number) => void): void {
    for (let row = 0; row < this.#length; row++)
      visit(this.#script[row]!, this.#position[row]!, this.#received[row]!, this.#sent[row]!);
  }

  #grow(): void {
    const size = this.#script.length * 2;
    this.#script = enlarge(this.#script, new Uint32Array(size));
    this.#position = enlarge(this.#position, new Float64Array(size));
    this.#received = enlarge(this.#received, new Float64Array(size));
    this.#sent = enlarge(this.#sent, new Float64Array(size));
  }
}

function enlarge<T extends Uint32Array | Float64Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
