/** Satoshis for some weight; the satoshis may be negative after prioritisation. */
export interface FeeFrac {
  readonly fee: number;
  readonly size: number;
}

/** Products up to here are exact as doubles. */
const EXACT = Number.MAX_SAFE_INTEGER;

/** Sign of the difference of two feerates, exact whatever the amounts: 1 where the first is higher. Sizes above 0. */
export function compareFeerate(aFee: number, aSize: number, bFee: number, bSize: number): -1 | 0 | 1 {
  const a = aFee * bSize;
  const b = bFee * aSize;
  if (Math.abs(a) <= EXACT && Math.abs(b) <= EXACT) return a > b ? 1 : a < b ? -1 : 0;
  const exactA = BigInt(aFee) * BigInt(bSize);
  const exactB = BigInt(bFee) * BigInt(aSize);
  return exactA > exactB ? 1 : exactA < exactB ? -1 : 0;
}

/**
 * Compares two feerate diagrams: for every amount of block space, which set of chunks earns more. 1 where the first is
 * nowhere below the second and somewhere above, -1 the other way round, 0 where they are the same, null where neither
 * is better. Chunks in falling order of feerate; beyond its end a diagram is flat.
 */
export function compareDiagrams(a: readonly FeeFrac[], b: readonly FeeFrac[]): -1 | 0 | 1 | null {
  let aBetter = false;
  let bBetter = false;
  for (const point of points(a)) {
    const sign = sideOf(point, b);
    if (sign > 0) aBetter = true;
    if (sign < 0) bBetter = true;
  }
  for (const point of points(b)) {
    const sign = sideOf(point, a);
    if (sign > 0) bBetter = true;
    if (sign < 0) aBetter = true;
  }
  if (aBetter && bBetter) return null;
  return aBetter ? 1 : bBetter ? -1 : 0;
}

/** Corners of a diagram: size and fee so far. */
function points(chunks: readonly FeeFrac[]): FeeFrac[] {
  let fee = 0;
  let size = 0;
  return chunks.map((chunk) => ({ fee: (fee += chunk.fee), size: (size += chunk.size) }));
}

/** Whether a point lies above (1), on (0) or below (-1) a diagram. */
function sideOf({ fee, size }: FeeFrac, chunks: readonly FeeFrac[]): number {
  let baseFee = 0;
  let baseSize = 0;
  for (const chunk of chunks) {
    // On this piece: compares fee - baseFee with the chunk's feerate times size - baseSize.
    if (size <= baseSize + chunk.size)
      return size === baseSize
        ? Math.sign(fee - baseFee)
        : compareFeerate(fee - baseFee, size - baseSize, chunk.fee, chunk.size);
    baseFee += chunk.fee;
    baseSize += chunk.size;
  }
  return Math.sign(fee - baseFee);
}
