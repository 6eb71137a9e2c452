import { positionHeight, type TxPosition } from '../../primitives/coin.ts';

/** Blocks whose positions are sorted together. */
const BLOCKS = 64;

/** A set of transaction positions that is read in order. No step takes long, whatever its size. */
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
