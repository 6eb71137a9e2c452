/** Transactions of one cluster by index, with their fees, sizes and ancestor sets. */
export class DepGraph {
  readonly count: number;
  readonly fee: Float64Array;
  readonly size: Float64Array;
  /** All indices in topological order, parents before children. */
  readonly parentsFirst: readonly number[];
  /** Whether every transaction has at most one parent, or every transaction has at most one child. */
  readonly isForest: boolean;
  /** Ancestor sets as 64-bit masks in two 32-bit words each; a transaction is its own ancestor. */
  readonly #ancestors: Uint32Array;

  /** `parents` are the indices of the direct parents. The graph has no cycles and at most 64 transactions. */
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

  /** Returns whether `ancestor` is an ancestor of `descendant`, or the same transaction. */
  dependsOn(descendant: number, ancestor: number): boolean {
    const half = this.#ancestors[descendant * 2 + (ancestor < 32 ? 0 : 1)]!;
    return (half & (1 << (ancestor & 31))) !== 0;
  }
}
