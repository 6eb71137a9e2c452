import type { RunBatch } from '../../storage/runs/run-batch.ts';
import type { RunFamily } from '../../storage/runs/run-family.ts';
import { RUN_FAMILIES } from '../../storage/runs/run-family.ts';

const BUCKETS = 1 << 16;
/** Entries that `RowDifference` holds at most. */
const ENTRIES_KEPT = 200_000;

const scratch = { bytes: new Uint8Array(1 << 14) };

/** Returns key and value of an entry one behind the other, as a view that is valid until the next call. */
function joined(
  keys: Uint8Array,
  keyAt: number,
  keySize: number,
  values: Uint8Array,
  from: number,
  to: number,
): Uint8Array {
  const size = keySize + to - from;
  if (size > scratch.bytes.length) scratch.bytes = new Uint8Array(size * 2);
  const { bytes } = scratch;
  for (let i = 0; i < keySize; i++) bytes[i] = keys[keyAt + i]!;
  for (let i = from, at = keySize; i < to; i++, at++) bytes[at] = values[i]!;
  return bytes.subarray(0, size);
}

function bucketOf(entry: Uint8Array): number {
  return (entry[0]! << 8) | entry[1]!;
}

/**
 * Compares two sets of rows without holding them: the sum of a keyed hash over all rows does not depend on their order,
 * and a row that is created and removed leaves nothing. Rows are summed by the first two bytes of their key, so that a
 * difference can be located.
 */
export class RowSums {
  readonly #seeds = crypto.getRandomValues(new Uint32Array(2));
  readonly #sums = new Map<RunFamily, [Uint32Array, Uint32Array]>(
    RUN_FAMILIES.map((family) => [family, [new Uint32Array(BUCKETS), new Uint32Array(BUCKETS)]]),
  );

  /** Adds the entries of a batch, or subtracts them; a removal has the opposite sign. */
  addBatch(batch: RunBatch, sign: 1 | -1): void {
    batch.visitEntries((removed, keys, keyAt, values, from, to) =>
      this.addEntry(batch.family, removed ? -sign : sign, keys, keyAt, values, from, to),
    );
  }

  addEntry(
    family: RunFamily,
    sign: number,
    keys: Uint8Array,
    keyAt: number,
    values: Uint8Array,
    from: number,
    to: number,
  ): void {
    const entry = joined(keys, keyAt, family.keySize, values, from, to);
    const bucket = bucketOf(entry);
    const [first, second] = this.#sums.get(family)!;
    // Two sums of 32 bits modulo 2^32: typed arrays wrap.
    first[bucket] = first[bucket]! + sign * Bun.hash.xxHash32(entry, this.#seeds[0]!);
    second[bucket] = second[bucket]! + sign * Bun.hash.xxHash32(entry, this.#seeds[1]!);
  }

  /** Returns the buckets of a family whose sums are not zero. */
  differing(family: RunFamily): number[] {
    const [first, second] = this.#sums.get(family)!;
    const buckets: number[] = [];
    for (let bucket = 0; bucket < BUCKETS; bucket++)
      if (first[bucket] !== 0 || second[bucket] !== 0) buckets.push(bucket);
    return buckets;
  }
}

/** Finds the rows that differ in a few buckets, by a second pass over both sets. */
export class RowDifference {
  readonly #buckets: ReadonlyMap<RunFamily, ReadonlySet<number>>;
  readonly #rows = new Map<RunFamily, Map<string, number>>();
  #count = 0;

  constructor(buckets: ReadonlyMap<RunFamily, ReadonlySet<number>>) {
    this.#buckets = buckets;
  }

  /** Whether there were too many rows to hold. */
  get overflow(): boolean {
    return this.#count >= ENTRIES_KEPT;
  }

  addBatch(batch: RunBatch, sign: 1 | -1): void {
    if (this.#buckets.has(batch.family))
      batch.visitEntries((removed, keys, keyAt, values, from, to) =>
        this.addEntry(batch.family, removed ? -sign : sign, keys, keyAt, values, from, to),
      );
  }

  addEntry(
    family: RunFamily,
    sign: number,
    keys: Uint8Array,
    keyAt: number,
    values: Uint8Array,
    from: number,
    to: number,
  ): void {
    if (!this.#buckets.get(family)?.has((keys[keyAt]! << 8) | keys[keyAt + 1]!)) return;
    const entry = joined(keys, keyAt, family.keySize, values, from, to).toHex();
    const rows = this.#rows.get(family) ?? new Map<string, number>();
    this.#rows.set(family, rows);
    const count = (rows.get(entry) ?? 0) + sign;
    if (count === 0) {
      rows.delete(entry);
      this.#count--;
    } else if (rows.has(entry)) rows.set(entry, count);
    else if (!this.overflow) {
      rows.set(entry, count);
      this.#count++;
    }
  }

  /** Returns the rows that are missing (positive) or superfluous (negative): the key in hex, and whether it is missing. */
  differences(family: RunFamily): { key: string; missing: boolean }[] {
    return [...(this.#rows.get(family) ?? [])].map(([entry, count]) => ({
      key: entry.slice(0, family.keySize * 2),
      missing: count > 0,
    }));
  }
}

/** Sums or differences of rows. */
export type RowSink = Pick<RowSums, 'addBatch' | 'addEntry'>;
