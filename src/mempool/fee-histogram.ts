/** Lower bounds in sat/vB, ascending; a transaction belongs to the highest bound that it reaches. */
const BANDS: readonly number[] = [
  0, 0.1, 0.2, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 25, 30, 40, 50, 60, 70, 80, 100, 120, 140, 170,
  200, 250, 300, 400, 500, 600, 700, 800, 1000, 1200, 1400, 1700, 2000, 5000, 10_000,
];

/** Virtual size of the mempool by feerate band, updated with each change. */
export class FeeHistogram {
  readonly #vsize = new Float64Array(BANDS.length);

  /** Adds a transaction; fee in satoshis, size in virtual bytes. */
  add(fee: number, vsize: number): void {
    this.#vsize[bandOf(fee / vsize)]! += vsize;
  }

  remove(fee: number, vsize: number): void {
    this.#vsize[bandOf(fee / vsize)]! -= vsize;
  }

  /** Returns the non-empty bands, highest first: lower bound in sat/vB, virtual bytes. */
  bands(): [rate: number, vsize: number][] {
    const found: [number, number][] = [];
    for (let i = BANDS.length - 1; i >= 0; i--) if (this.#vsize[i]! > 0) found.push([BANDS[i]!, this.#vsize[i]!]);
    return found;
  }
}

function bandOf(rate: number): number {
  let low = 0;
  let high = BANDS.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if (BANDS[middle]! <= rate) low = middle;
    else high = middle - 1;
  }
  return low;
}
