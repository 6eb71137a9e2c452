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

/** The items in an order of which each is as likely. */
export function shuffled<T>(items: readonly T[], random: RandomBelow): T[] {
  const out = [...items];
  for (let i = out.length - 1; i > 0; i--) {
    const j = random(i + 1);
    [out[i], out[j]] = [out[j]!, out[i]!];
  }
  return out;
}

/** An exponentially distributed time with this mean: the gaps of a Poisson process. */
export function poissonDelay(meanMs: number, random: RandomBelow): number {
  return -Math.log1p(-random(2 ** 32) / 2 ** 32) * meanMs;
}

/** A random 64-bit number. */
export function random64(random: RandomBelow): bigint {
  return (BigInt(random(2 ** 32)) << 32n) | BigInt(random(2 ** 32));
}
