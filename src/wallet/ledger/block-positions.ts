import { positionHeight, type TxPosition } from '../../primitives/coin.ts';

/** Blocks whose places are sorted at a time. */
const BLOCKS = 64;

/** Places of transactions, each once, taken out in order. However many there are, no step of that takes long. */
export class BlockPositions {
  readonly #parts = new Map<number, Set<TxPosition>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(position: TxPosition): void {
    const key = Math.floor(positionHeight(position) / BLOCKS);
    let part = this.#parts.get(key);
    if (!part) this.#parts.set(key, (part = new Set()));
    const before = part.size;
    part.add(position);
    this.#size += part.size - before;
  }

  *inOrder(): Generator<TxPosition, void> {
    for (const key of [...this.#parts.keys()].sort((a, b) => a - b))
      yield* [...this.#parts.get(key)!].sort((a, b) => a - b);
  }
}
