import type { RandomBelow } from '../../util/random.ts';

const BLOCK_WORDS = 4096;

/** From the system's randomness, fetched in blocks: selection asks for millions of bits. `limit` is at most 2^32. */
export function selectionRandom(): RandomBelow {
  const words = new Uint32Array(BLOCK_WORDS);
  let at = BLOCK_WORDS;
  return (limit) => {
    // The incomplete last range would make small numbers more likely.
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
