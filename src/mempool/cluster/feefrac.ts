/** A fee in satoshis for a size in weight units or virtual bytes. The fee may be negative after prioritisation. */
export interface FeeFrac {
  readonly fee: number;
  readonly size: number;
}

/** Products up to this bound are exact as doubles. */
const EXACT = Number.MAX_SAFE_INTEGER;

/** Returns the sign of feerate a minus feerate b, exact for all amounts. Sizes must be positive. */
export function compareFeerate(aFee: number, aSize: number, bFee: number, bSize: number): -1 | 0 | 1 {
  const a = aFee * bSize;
  const b = bFee * aSize;
  if (Math.abs(a) <= EXACT && Math.abs(b) <= EXACT) return a > b ? 1 : a < b ? -1 : 0;
  const exactA = BigInt(aFee) * BigInt(bSize);
  const exactB = BigInt(bFee) * BigInt(aSize);
  return exactA > exactB ? 1 : exactA < exactB ? -1 : 0;
}

/**
 * Compares two feerate diagrams, each given as chunks with the highest feerate first. Returns 1 if the first is nowhere
 * below the second and somewhere above it, -1 for the reverse, 0 if they are equal, and null if neither dominates. A
 * diagram is constant beyond its last chunk.
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

/** Returns the corners of a diagram: cumulative size and fee. */
function points(chunks: readonly FeeFrac[]): FeeFrac[] {
  let fee = 0;
  let size = 0;
  return chunks.map((chunk) => ({ fee: (fee += chunk.fee), size: (size += chunk.size) }));
}

/** Returns whether a point lies above (1), on (0) or below (-1) a diagram. */
function sideOf({ fee, size }: FeeFrac, chunks: readonly FeeFrac[]): number {
  let baseFee = 0;
  let baseSize = 0;
  for (const chunk of chunks) {
    // Within this segment the slope from its start to the point is compared with the feerate of the chunk.
    if (size <= baseSize + chunk.size)
      return size === baseSize
        ? Math.sign(fee - baseFee)
        : compareFeerate(fee - baseFee, size - baseSize, chunk.fee, chunk.size);
    baseFee += chunk.fee;
    baseSize += chunk.size;
  }
  return Math.sign(fee - baseFee);
}
