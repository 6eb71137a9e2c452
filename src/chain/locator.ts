import type { HeaderEntry } from '../consensus/header-entry.ts';
import type { BlockHash } from '../primitives/hash.ts';

/** So many of the newest come one after another; behind them every step is twice the one before. */
const DENSE = 10;

/** Hashes of an entry and of some of its ancestors, down to the genesis block: tells a peer where chains may fork. */
export function locatorOf(entry: HeaderEntry): BlockHash[] {
  const hashes: BlockHash[] = [];
  let step = 1;
  for (let at = entry; ; ) {
    hashes.push(at.hash);
    if (at.height === 0) return hashes;
    at = at.ancestor(Math.max(at.height - step, 0))!;
    if (hashes.length > DENSE) step *= 2;
  }
}
