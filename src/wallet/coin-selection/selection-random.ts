import type { RandomBelow } from '../../util/random.ts';

const BLOCK_WORDS = 4096;

/**
 * Returns a source of random numbers below `limit`, at most 2^32. Randomness is read in blocks, since a selection needs
 * millions of bits.
 */
export function selectionRandom(): RandomBelow {
  const words = new Uint32Array(BLOCK_WORDS);
  let at = BLOCK_WORDS;
  return (limit) => {
    // Numbers of the incomplete last range are skipped, since they would make small results more likely.
    const end = 0x1_0000_0000 - (0x1_0000_0000 % limit);
    for (;;) {
      if (at === BLOCK_WORDS) {
        crypto.getRandomValues(words);
        at = 0;
      }
      const word = words[at++]!;
      if (word < end) return word % limit;
    }
  };
}
