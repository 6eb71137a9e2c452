/** sat/vB, rising; a transaction belongs to the highest that it pays. */
const BANDS: readonly number[] = [
  0, 0.1, 0.2, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 25, 30, 40, 50, 60, 70, 80, 100, 120, 140, 170,
  200, 250, 300, 400, 500, 600, 700, 800, 1000, 1200, 1400, 1700, 2000, 5000, 10_000,
];

/** Virtual bytes of the mempool by what they pay, counted along. */
export class FeeHistogram {
  readonly #vsize = new Float64Array(BANDS.length);

  /** Satoshis and virtual bytes. */
  add(fee: number, vsize: number): void {
    this.#vsize[bandOf(fee / vsize)]! += vsize;
  }

  remove(fee: number, vsize: number): void {
    this.#vsize[bandOf(fee / vsize)]! -= vsize;
  }

  /** The bands that hold something, the best first: least rate in sat/vB, virtual bytes. */
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
