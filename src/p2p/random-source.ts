/** A whole number from 0 to less than `limit`, each as likely; an argument of whatever decides by chance. */
export type RandomBelow = (limit: number) => number;

/** From the system's randomness. `limit` is at most 2^32. */
export const systemRandomBelow: RandomBelow = (limit) => {
  const words = new Uint32Array(1);
  // What is left over at the top would make small numbers likelier.
  const end = 0x1_0000_0000 - (0x1_0000_0000 % limit);
  do crypto.getRandomValues(words);
  while (words[0]! >= end);
  return words[0]! % limit;
};
