/** Transactions of one cluster, by index: what each pays and weighs, and which of the others it descends from. */
export class DepGraph {
  readonly count: number;
  readonly fee: Float64Array;
  readonly size: Float64Array;
  /** All, parents before their children. */
  readonly parentsFirst: readonly number[];
  /** Whether all have one parent at most, or all one child. */
  readonly isForest: boolean;
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
    const parentsFirst: number[] = [];
    const children = new Uint8Array(this.count);
    let hasManyParents = false;
    let hasManyChildren = false;
    const visit = (index: number): void => {
      if (done[index]) return;
      done[index] = 1;
      let low = index < 32 ? 1 << index : 0;
      let high = index < 32 ? 0 : 1 << (index - 32);
      const { parents } = transactions[index]!;
      if (parents.length > 1) hasManyParents = true;
      for (const parent of parents) {
        if (++children[parent]! > 1) hasManyChildren = true;
        visit(parent);
        low |= this.#ancestors[parent * 2]!;
        high |= this.#ancestors[parent * 2 + 1]!;
      }
      this.#ancestors[index * 2] = low;
      this.#ancestors[index * 2 + 1] = high;
      parentsFirst.push(index);
    };
    for (let index = 0; index < this.count; index++) visit(index);
    this.parentsFirst = parentsFirst;
    this.isForest = !(hasManyParents && hasManyChildren);
  }

  /** Whether `descendant` needs `ancestor`, or is it. */
  dependsOn(descendant: number, ancestor: number): boolean {
    const half = this.#ancestors[descendant * 2 + (ancestor < 32 ? 0 : 1)]!;
    return (half & (1 << (ancestor & 31))) !== 0;
  }
}
