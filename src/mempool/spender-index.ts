import { grown, grownRows } from '../util/column.ts';
import { SlotIndex } from '../util/slot-index.ts';

const INITIAL = 256;

/**
 * Index of the inputs in the mempool by the txid that they spend from: the first input of a txid is in the index, the
 * others are linked to it.
 */
export class SpenderIndex {
  readonly #outpoints: () => Uint8Array;
  readonly #hash: number;
  readonly #outpoint: number;
  readonly #byTxid: SlotIndex;
  #next = new Int32Array(INITIAL);
  #previous = new Int32Array(INITIAL);

  /** `outpoints` returns the table of outpoints: that of input n begins at byte n * `outpoint`, with its txid. */
  constructor(hash: number, outpoint: number, outpoints: () => Uint8Array) {
    this.#outpoints = outpoints;
    this.#hash = hash;
    this.#outpoint = outpoint;
    this.#byTxid = new SlotIndex(hash, outpoints, outpoint);
  }

  /** Yields the inputs that spend outputs of a transaction. */
  *inputs(txid: Uint8Array): Generator<number> {
    for (let input = this.#byTxid.find(txid); input >= 0; input = this.#next[input]!) yield input;
  }

  add(input: number): void {
    while (input >= this.#next.length) this.#grow();
    const at = input * this.#outpoint;
    const first = this.#byTxid.find(this.#outpoints().subarray(at, at + this.#hash));
    this.#previous[input] = first;
    this.#next[input] = first < 0 ? -1 : this.#next[first]!;
    if (first < 0) {
      this.#byTxid.add(input);
      return;
    }
    const next = this.#next[first]!;
    if (next >= 0) this.#previous[next] = input;
    this.#next[first] = input;
  }

  remove(input: number): void {
    const previous = this.#previous[input]!;
    const next = this.#next[input]!;
    if (next >= 0) this.#previous[next] = previous;
    if (previous >= 0) {
      this.#next[previous] = next;
      return;
    }
    this.#byTxid.remove(input);
    if (next >= 0) this.#byTxid.add(next);
  }

  #grow(): void {
    const rows = grownRows(this.#next.length);
    this.#next = grown(this.#next, rows);
    this.#previous = grown(this.#previous, rows);
  }
}
