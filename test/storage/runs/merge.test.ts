import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { mergeRuns } from '../../../src/storage/runs/merge-runs.ts';
import { MergeScan } from '../../../src/storage/runs/merge-scan.ts';
import { pairFirst, pairSecond } from '../../../src/storage/runs/pair-codec.ts';
import { Run } from '../../../src/storage/runs/run.ts';
import { RunCursor } from '../../../src/storage/runs/run-cursor.ts';
import { RUN_FAMILIES, type RunFamily } from '../../../src/storage/runs/run-family.ts';
import { FilterKey } from '../../../src/storage/runs/run-filter.ts';
import { keyAfterPrefix } from '../../../src/storage/runs/run-format.ts';
import { runFileName, runFolder } from '../../../src/storage/runs/run-manifest.ts';
import { allLiveEntries, type LiveEntry, liveEntries, sumEntries } from '../../../src/storage/runs/run-range.ts';
import { MemorySource } from '../../../src/storage/runs/run-source.ts';
import { entriesOf, idOfImage, imageOf, newRunId } from '../../lib/run-entries.ts';
import { changesOf, type KeyChange, keyOf, RunModel } from '../../lib/run-model.ts';

let dir: string;
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'obverse-merge-'))));
afterEach(() => rmSync(dir, { recursive: true }));

/** Applies several commits. Returns the model and the image of the run of each commit, the oldest first. */
function commitAll(family: RunFamily, commits: readonly (readonly KeyChange[])[]) {
  const model = new RunModel(family);
  const images = commits.map((changes) => imageOf(model.commit(changes)));
  return { model, images };
}

/** The youngest first, as readers have them. */
const open = (family: RunFamily, images: readonly Uint8Array[]) =>
  images.map((image, i) => new Run(family, new MemorySource(`${i}`, image), i % 2 === 0)).reverse();

const copy = (family: RunFamily, entries: Iterable<LiveEntry>) =>
  Array.from(entries, ({ keys, keyAt, bytes, from, to }): [string, string] => [
    keys.slice(keyAt, keyAt + family.keySize).toHex(),
    bytes.slice(from, to).toHex(),
  ]);

/** Compares all answers of the runs with the plain state. */
function expectState(model: RunModel, runs: readonly Run[], bounds: readonly Uint8Array[]): void {
  const { family } = model;
  const all = model.range(null, null);
  expect(copy(family, allLiveEntries(runs))).toEqual(all);
  const least = new Uint8Array(family.keySize);
  expect(copy(family, liveEntries(runs, least, null))).toEqual(all);
  expect(copy(family, liveEntries(runs, least, null, 'desc'))).toEqual(all.toReversed());
  for (const [i, low] of bounds.entries()) {
    const high = i % 5 === 4 ? null : bounds[(i + 1) % bounds.length]!;
    const expected = high !== null && high.toHex() < low.toHex() ? [] : model.range(low, high);
    expect(copy(family, liveEntries(runs, low, high))).toEqual(expected);
    expect(copy(family, liveEntries(runs, low, high, 'desc'))).toEqual(expected.toReversed());
    if (high !== null && high.toHex() < low.toHex()) continue;
    const sums = sumEntries(runs, low, high);
    expect(sums.count).toBe(expected.length);
    expect(sums.firstKey?.toHex() ?? null).toBe(expected[0]?.[0] ?? null);
    expect(sums.lastKey?.toHex() ?? null).toBe(expected.at(-1)?.[0] ?? null);
    if (!family.sums) continue;
    const total = (read: typeof pairFirst) =>
      expected.reduce((sum, [, value]) => sum + BigInt(read(Uint8Array.fromHex(value), 0)), 0n);
    expect([sums.first, sums.second]).toEqual([total(pairFirst), total(pairSecond)]);
  }
  for (const key of bounds) {
    const expected = model.state.get(key.toHex())?.toHex() ?? null;
    let answer: string | null = null;
    for (const run of runs) {
      const found = run.mayHold(new FilterKey().load(key, 0)) ? run.find(key) : null;
      if (found === null) continue;
      if (!found.removed) answer = found.bytes.slice(found.from, found.to).toHex();
      break;
    }
    expect(answer).toBe(expected);
  }
}

/** Merges images, through files if `inFiles`. Returns the image of the result. */
function merge(family: RunFamily, images: readonly Uint8Array[], bottom: boolean, inFiles: boolean): Uint8Array {
  const sources = images.map((image) => {
    const id = idOfImage(image);
    if (inFiles) writeFileSync(join(runFolder(dir), runFileName(id, family)), image);
    return { id, bytes: image.length, image: inFiles ? null : image };
  });
  const result = mergeRuns({ chainDir: dir, family, id: newRunId(), sources, bottom });
  expect(result.bytes).toBe(result.image!.length);
  expect(result.entries).toBe(new Run(family, new MemorySource('merged', result.image!), false).footer.entries);
  return result.image!;
}

const commitsOf = (family: RunFamily) => fc.array(changesOf(family, 25), { minLength: 1, maxLength: 9, size: 'max' });

describe.each(RUN_FAMILIES.map((family) => [family.name, family] as const))('runs of %s', (_, family) => {
  const bounds = fc.array(keyOf(family), { minLength: 2, maxLength: 10, size: 'max' });

  test('answer as a map to which all commits were applied', () => {
    fc.assert(
      fc.property(commitsOf(family), bounds, (commits, keys) => {
        const { model, images } = commitAll(family, commits);
        expectState(model, open(family, images), keys);
      }),
      { numRuns: 40 },
    );
  });

  test('answer the same however neighbours are merged, and in the end nothing else is left', () => {
    mkdirSync(runFolder(dir));
    const step = fc.record({ from: fc.nat(8), count: fc.integer({ min: 1, max: 4 }), inFiles: fc.boolean() });
    fc.assert(
      fc.property(commitsOf(family), bounds, fc.array(step, { maxLength: 5 }), (commits, keys, steps) => {
        const { model, images } = commitAll(family, commits);
        for (const { from, count, inFiles } of steps) {
          const at = from % images.length;
          const merged = merge(family, images.slice(at, at + count), at === 0, inFiles);
          images.splice(at, Math.min(count, images.length - at), merged);
          expectState(model, open(family, images), keys);
        }
        // A merge of all runs leaves the live entries alone.
        const whole = new Run(family, new MemorySource('whole', merge(family, images, true, false)), true);
        expectState(model, [whole], keys);
        expect(entriesOf(whole).map(({ key, removed, value }) => [removed, key.toHex(), value.toHex()])).toEqual(
          model.range(null, null).map(([key, value]) => [false, key, value]),
        );
      }),
      { numRuns: 40 },
    );
    expect(readdirSync(runFolder(dir)).every((name) => name.endsWith('.run'))).toBe(true);
  });

  test('in a scan have each key once, with what remains of it in the order of time', () => {
    fc.assert(
      fc.property(commitsOf(family), fc.boolean(), (commits, descending) => {
        const before = new RunModel(family);
        for (const changes of commits.slice(0, 3)) before.commit(changes);
        const old = new Map(before.state);
        const images = commits.slice(3).map((changes) => imageOf(before.commit(changes)));
        const cursors = open(family, images)
          .reverse()
          .map((run) => {
            const cursor = new RunCursor(run);
            if (descending) cursor.seekLast();
            else cursor.seekFirst();
            return cursor;
          });
        const scan = new MergeScan(cursors, descending);
        const seen: string[] = [];
        const state = new Map(old);
        while (scan.next()) {
          const key = scan.keys.slice(scan.keyAt, scan.keyAt + family.keySize).toHex();
          seen.push(key);
          const kinds = scan.entries.map(({ removed }) => (removed ? '-' : '+')).join('');
          expect(['+', '-', '-+']).toContain(kinds);
          // An addition alone needs that nothing is older; a removal needs something.
          expect(kinds === '+').toBe(!old.has(key));
          const last = scan.entries.at(-1)!;
          if (last.removed) state.delete(key);
          else state.set(key, last.bytes.slice(last.from, last.to));
        }
        expect(seen).toEqual([...new Set(seen)].sort((a, b) => (a < b !== descending ? -1 : 1)));
        const hex = (map: Map<string, Uint8Array>) => [...map].map(([key, value]) => `${key}:${value.toHex()}`).sort();
        expect(hex(state)).toEqual(hex(before.state));
      }),
      { numRuns: 60 },
    );
  });
});

test('the key after a prefix is the least above all keys that begin with it', () => {
  expect(keyAfterPrefix(Uint8Array.of(1, 2), 4)?.toHex()).toBe('01030000');
  expect(keyAfterPrefix(Uint8Array.of(1, 0xff), 4)?.toHex()).toBe('02000000');
  expect(keyAfterPrefix(Uint8Array.of(0xff, 0xff), 4)).toBeNull();
  expect(keyAfterPrefix(Uint8Array.of(), 4)).toBeNull();
});
