import { MergeScan } from './merge-scan.ts';
import { RangeEdges } from './range-edges.ts';
import type { Run } from './run.ts';
import { RunCursor } from './run-cursor.ts';
import { compareKeys, EntrySums } from './run-format.ts';

/** An entry of the merged state: a key at `keyAt` of `keys`, and its value. Valid until the next one. */
export interface LiveEntry {
  readonly keys: Uint8Array;
  readonly keyAt: number;
  readonly bytes: Uint8Array;
  readonly from: number;
  readonly to: number;
}

/**
 * Yields the entries from `low` up to before `high` of the state that the runs make up, in the order of their keys or
 * from the last one on. `runs`: the youngest first. `high` null: up to the end.
 */
export function* liveEntries(
  runs: readonly Run[],
  low: Uint8Array,
  high: Uint8Array | null,
  order: 'asc' | 'desc' = 'asc',
): Generator<LiveEntry> {
  const descending = order === 'desc';
  const holding = runs.filter((run) => run.hasEntries(low, high)).reverse();
  const cursors = holding.map((run) => {
    const cursor = new RunCursor(run);
    if (!descending) cursor.seekFrom(low);
    else if (high === null) cursor.seekLast();
    else cursor.seekBelow(high);
    return cursor;
  });
  const scan = new MergeScan(cursors, descending);
  while (scan.next()) {
    const { keys, keyAt } = scan;
    if (descending ? compareKeys(keys, keyAt, low, 0, low.length) < 0 : !isBelow(keys, keyAt, high)) return;
    const last = scan.entries.at(-1)!;
    if (!last.removed) yield { keys, keyAt, bytes: last.bytes, from: last.from, to: last.to };
  }
}

/** Returns a scan of all entries of runs, which reads many pages at once. `runs`: the youngest first. */
function scanAll(runs: readonly Run[]): MergeScan {
  const cursors = runs.toReversed().map((run) => {
    const cursor = new RunCursor(run, true);
    cursor.seekFirst();
    return cursor;
  });
  return new MergeScan(cursors);
}

/**
 * Yields the entries that remain when all runs are merged, in the order of their keys. Intact runs leave one addition
 * of each key of the state, and no removal.
 */
export function* mergedEntries(runs: readonly Run[]): Generator<LiveEntry & { readonly removed: boolean }> {
  const scan = scanAll(runs);
  while (scan.next())
    for (const { removed, bytes, from, to } of scan.entries)
      yield { keys: scan.keys, keyAt: scan.keyAt, removed, bytes, from, to };
}

/** Yields all entries of the state in the order of their keys, reading many pages at once. */
export function* allLiveEntries(runs: readonly Run[]): Generator<LiveEntry> {
  const scan = scanAll(runs);
  while (scan.next()) {
    const last = scan.entries.at(-1)!;
    if (!last.removed) yield { keys: scan.keys, keyAt: scan.keyAt, bytes: last.bytes, from: last.from, to: last.to };
  }
}

/** Sums over the entries of a range of keys, and their outermost keys; null without entries. */
export interface RangeSums {
  readonly count: number;
  readonly first: bigint;
  readonly second: bigint;
  readonly firstKey: Uint8Array | null;
  readonly lastKey: Uint8Array | null;
}

/** Returns the sums of the entries from `low` up to before `high`, at the cost of two look-ups in each run. */
export function sumEntries(runs: readonly Run[], low: Uint8Array, high: Uint8Array | null): RangeSums {
  const sums = new EntrySums();
  const edges = new RangeEdges();
  for (const run of runs) run.addSums(low, high, sums, edges);
  // After a reorg the outermost key may be gone, and the next one is found by merging.
  const firstKey = edges.firstRemoved ? edgeKey(runs, low, high, 'asc') : edges.first;
  const lastKey = edges.lastRemoved ? edgeKey(runs, low, high, 'desc') : edges.last;
  const { count, first, second } = sums;
  return { count: Number(count.value), first: first.value, second: second.value, firstKey, lastKey };
}

function edgeKey(
  runs: readonly Run[],
  low: Uint8Array,
  high: Uint8Array | null,
  order: 'asc' | 'desc',
): Uint8Array | null {
  for (const { keys, keyAt } of liveEntries(runs, low, high, order)) return keys.slice(keyAt, keyAt + low.length);
  return null;
}

function isBelow(keys: Uint8Array, keyAt: number, high: Uint8Array | null): boolean {
  return high === null || compareKeys(keys, keyAt, high, 0, high.length) < 0;
}

/** Writes a position as the six big-endian bytes of a key. */
export function putPosition(key: Uint8Array, at: number, position: number): void {
  const high = Math.floor(position / 0x1_0000_0000);
  key[at] = high >>> 8;
  key[at + 1] = high;
  key[at + 2] = position >>> 24;
  key[at + 3] = position >>> 16;
  key[at + 4] = position >>> 8;
  key[at + 5] = position;
}

export function positionOf(key: Uint8Array, at: number): number {
  const high = (key[at]! << 8) | key[at + 1]!;
  const low = ((key[at + 2]! << 24) | (key[at + 3]! << 16) | (key[at + 4]! << 8) | key[at + 5]!) >>> 0;
  return high * 0x1_0000_0000 + low;
}
