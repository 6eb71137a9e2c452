/**
 * Returns a uniformly distributed integer from 0 to `limit` - 1. Passed as an argument to everything random, so that
 * tests are deterministic.
 */
export type RandomBelow = (limit: number) => number;

/** Uses the system's random number generator. `limit` is at most 2^32. */
export const systemRandomBelow: RandomBelow = (limit) => {
  const words = new Uint32Array(1);
  // Values at or above the largest multiple of `limit` are rejected, otherwise small results would be more likely.
  const end = 0x1_0000_0000 - (0x1_0000_0000 % limit);
  do crypto.getRandomValues(words);
  while (words[0]! >= end);
  return words[0]! % limit;
};

/** Returns the items in uniformly random order. */
export function shuffled<T>(items: readonly T[], random: RandomBelow): T[] {
  const out = [...items];
  for (let i = out.length - 1; i > 0; i--) {
    const j = random(i + 1);
    [out[i], out[j]] = [out[j]!, out[i]!];
  }
  return out;
}

/** Returns an exponentially distributed delay with the given mean, as between events of a Poisson process. */
export function poissonDelay(meanMs: number, random: RandomBelow): number {
  return -Math.log1p(-random(2 ** 32) / 2 ** 32) * meanMs;
}

/** Returns a random 64-bit number. */
export function random64(random: RandomBelow): bigint {
  return (BigInt(random(2 ** 32)) << 32n) | BigInt(random(2 ** 32));
}
