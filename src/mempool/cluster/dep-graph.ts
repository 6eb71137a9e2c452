/** Transactions of one cluster, by index: what each pays and weighs, and which of the others it descends from. */
export class DepGraph {
  readonly count: number;
  readonly fee: Float64Array;
  readonly size: Float64Array;
  /** Bit sets of 64, in two halves: ancestors with the transaction itself. */
  readonly #ancestors: Uint32Array;

  /** `parents` yields the indices of the direct parents; the graph has no cycles and at most 64 transactions. */
  constructor(
    transactions: readonly { readonly fee: number; readonly size: number; readonly parents: readonly number[] }[],
  ) {
    this.count = transactions.length;
    this.fee = Float64Array.from(transactions, ({ fee }) => fee);
    this.size = Float64Array.from(transactions, ({ size }) => size);
    this.#ancestors = new Uint32Array(this.count * 2);
    const done = new Uint8Array(this.count);
    const visit = (index: number): void => {
      if (done[index]) return;
      done[index] = 1;
      let low = index < 32 ? 1 << index : 0;
      let high = index < 32 ? 0 : 1 << (index - 32);
      for (const parent of transactions[index]!.parents) {
        visit(parent);
        low |= this.#ancestors[parent * 2]!;
        high |= this.#ancestors[parent * 2 + 1]!;
      }
      this.#ancestors[index * 2] = low;
      this.#ancestors[index * 2 + 1] = high;
    };
    for (let index = 0; index < this.count; index++) visit(index);
  }

  /** Whether `descendant` needs `ancestor`, or is it. */
  dependsOn(descendant: number, ancestor: number): boolean {
    const half = this.#ancestors[descendant * 2 + (ancestor < 32 ? 0 : 1)]!;
    return (half & (1 << (ancestor & 31))) !== 0;
  }
}
