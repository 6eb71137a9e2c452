import type { TxPosition } from '../primitives/coin.ts';

/** Rows of (script, position, output index, value) in typed arrays: coins that scripts gained and lost, in order of time. */
export class CoinRows {
  #script = new Uint32Array(1024);
  #position = new Float64Array(1024);
  #vout = new Uint32Array(1024);
  #value = new Float64Array(1024);
  #removed = new Uint8Array(1024);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  addRow(script: number, position: TxPosition, vout: number, value: number, removed: boolean): void {
    const row = this.#length++;
    if (row === this.#script.length) this.#grow();
    this.#script[row] = script;
    this.#position[row] = position;
    this.#vout[row] = vout;
    this.#value[row] = value;
    this.#removed[row] = removed ? 1 : 0;
  }

  cutTo(length: number): void {
    this.#length = length;
  }

  each(visit: (script: number, position: TxPosition, vout: number, value: number, removed: boolean) => void): void {
    for (let row = 0; row < this.#length; row++)
      visit(this.#script[row]!, this.#position[row]!, this.#vout[row]!, this.#value[row]!, this.#removed[row] === 1);
  }

  #grow(): void {
    const size = this.#script.length * 2;
    const enlarge = <T extends Uint8Array | Uint32Array | Float64Array>(from: T, to: T): T => {
      to.set(from);
      return to;
    };
    this.#script = enlarge(this.#script, new Uint32Array(size));
    this.#position = enlarge(this.#position, new Float64Array(size));
    this.#vout = enlarge(this.#vout, new Uint32Array(size));
    this.#value = enlarge(this.#value, new Float64Array(size));
    this.#removed = enlarge(this.#removed, new Uint8Array(size));
  }
}
