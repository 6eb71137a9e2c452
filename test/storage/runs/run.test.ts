import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { pairFirst, pairSecond } from '../../../src/storage/runs/pair-codec.ts';
import { Run } from '../../../src/storage/runs/run.ts';
import { RunBatch } from '../../../src/storage/runs/run-batch.ts';
import { RunBuilder } from '../../../src/storage/runs/run-builder.ts';
import { RunCursor } from '../../../src/storage/runs/run-cursor.ts';
import { COINS, HISTORY, RUN_FAMILIES, type RunFamily, SCRIPT_COINS } from '../../../src/storage/runs/run-family.ts';
import { FilterKey } from '../../../src/storage/runs/run-filter.ts';
import { EntrySums, Sum64 } from '../../../src/storage/runs/run-format.ts';
import { FileSink, FileSource, MemorySource } from '../../../src/storage/runs/run-source.ts';
import { type EntryCopy, entriesOf, imageOf } from '../../lib/run-entries.ts';
import { keyOf, pairValue, putEntry, valueFor } from '../../lib/run-model.ts';

let dir: string;
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'obverse-run-'))));
afterEach(() => rmSync(dir, { recursive: true }));

let files = 0;

/** Opens the run of a batch in memory and in a file, each with and without its index in memory. */
function withRuns(batch: RunBatch, check: (run: Run, size: number) => void): void {
  const image = imageOf(batch);
  for (const pinned of [false, true])
    check(new Run(batch.family, new MemorySource('memory', image), pinned), image.length);
  const path = join(dir, `${files++}.run`);
  const sink = new FileSink(path);
  const builder = new RunBuilder(batch.family, 1, sink, batch.count);
  batch.writeTo(builder);
  const size = builder.finish();
  sink.finish();
  for (const pinned of [false, true]) {
    const run = new Run(batch.family, new FileSource(path), pinned);
    try {
      check(run, size);
    } finally {
      run.close();
    }
  }
  rmSync(path);
}

/** The same entry as text. */
const lineOf = ({ key, removed, value }: EntryCopy) => `${removed ? '-' : '+'}${key.toHex()}:${value.toHex()}`;

/** Entries of a run: each key once, or a removal and then an addition with another value. */
function entriesFor(family: RunFamily, maxLength: number): fc.Arbitrary<EntryCopy[]> {
  const entry = fc.record({
    key: keyOf(family),
    value: valueFor(family),
    other: valueFor(family),
    kind: fc.constantFrom('added', 'removed', 'both'),
  });
  return fc.uniqueArray(entry, { maxLength, size: 'max', selector: ({ key }) => key.toHex() }).map((list) =>
    list.flatMap(({ key, value, other, kind }): EntryCopy[] => {
      const old = { key, removed: true, value: family.sums ? other : new Uint8Array(0) };
      const added = { key, removed: false, value };
      if (kind === 'added') return [added];
      // A removal and an addition of the same value would cancel.
      return kind === 'removed' || value.toHex() === old.value.toHex() ? [old] : [old, added];
    }),
  );
}

function batchOf(family: RunFamily, entries: readonly EntryCopy[]): RunBatch {
  const batch = new RunBatch(family);
  for (const { removed, key, value } of entries) putEntry(batch, removed, key, value);
  return batch;
}

const sorted = (entries: readonly EntryCopy[]) =>
  entries.toSorted((a, b) => (a.key.toHex() < b.key.toHex() ? -1 : a.key.toHex() > b.key.toHex() ? 1 : 0));

function sumsOf(family: RunFamily, entries: readonly EntryCopy[]): bigint[] {
  const sums = [0n, 0n, 0n];
  for (const { removed, value } of entries) {
    const sign = removed ? -1n : 1n;
    sums[0]! += sign;
    if (!family.sums) continue;
    sums[1]! += sign * BigInt(pairFirst(value, 0));
    sums[2]! += sign * BigInt(pairSecond(value, 0));
  }
  return sums;
}

const plain = ({ count, first, second }: EntrySums) => [count.value, first.value, second.value];

function sumsIn(run: Run, low: Uint8Array, high: Uint8Array | null): bigint[] {
  const sums = new EntrySums();
  run.addSums(low, high, sums);
  return plain(sums);
}

/** Keys of the entries and their neighbours. */
function probes({ keySize }: RunFamily, entries: readonly EntryCopy[]): Uint8Array[] {
  const around = (key: Uint8Array) => {
    const above = key.slice();
    above[keySize - 1] = (above[keySize - 1]! + 1) & 0xff;
    const below = key.slice();
    below[keySize - 1] = (below[keySize - 1]! + 0xff) & 0xff;
    return [below, key, above];
  };
  return [...entries.flatMap(({ key }) => around(key)), new Uint8Array(keySize), new Uint8Array(keySize).fill(0xff)];
}

/** Returns the sums of the entries up to each of them, with those of none first. */
function runningSums(family: RunFamily, entries: readonly EntryCopy[]): bigint[][] {
  const all = [[0n, 0n, 0n]];
  for (const entry of entries) {
    const before = all.at(-1)!;
    all.push(sumsOf(family, [entry]).map((sum, part) => sum + before[part]!));
  }
  return all;
}

const difference = (a: readonly bigint[], b: readonly bigint[]) => a.map((sum, part) => sum - b[part]!);

/** Compares everything that a run answers with the plain list of its entries. */
function expectEqual(run: Run, list: readonly EntryCopy[], keys: readonly Uint8Array[]): void {
  const { family } = run;
  const lines = list.map(lineOf);
  const hexes = list.map(({ key }) => key.toHex());
  const sums = runningSums(family, list);
  expect(entriesOf(run).map(lineOf)).toEqual(lines);
  expect(run.footer.entries).toBe(list.length);
  expect(plain(run.footer.sums)).toEqual(sums.at(-1)!);
  const current = ({ keys: bytes, keyAt, removed, bytes: page, from, to }: RunCursor) =>
    lineOf({ key: bytes.slice(keyAt, keyAt + family.keySize), removed, value: page.slice(from, to) });
  const cursor = new RunCursor(run, true);
  const ahead: string[] = [];
  for (cursor.seekFirst(); cursor.valid; cursor.next()) ahead.push(current(cursor));
  expect(ahead).toEqual(lines);
  const backward: string[] = [];
  const back = new RunCursor(run);
  for (back.seekLast(); back.valid; back.previous()) backward.push(current(back));
  expect(backward.reverse()).toEqual(lines);

  const firstKeys: string[] = [];
  for (let page = 0; page < run.pages; page++) {
    const before = run.lastPageUpTo(new Uint8Array(family.keySize).fill(0xff));
    expect(before).toBe(run.pages - 1);
    const bytes = run.readPage(page);
    // The first entry of a page has its whole key, behind the header, the shared prefix and the length.
    let at = 33;
    while (bytes[at++]! >= 0x80);
    firstKeys.push(bytes.slice(at, at + family.keySize).toHex());
  }
  for (const key of keys) {
    const hex = key.toHex();
    expect(run.lastPageUpTo(key)).toBe(firstKeys.findLastIndex((first) => first <= hex));
    expect(run.lastPageBelow(key)).toBe(firstKeys.findLastIndex((first) => first < hex));
    const found = run.find(key);
    const at = hexes.lastIndexOf(hex);
    /** Number of entries below the key. */
    const above = hexes.findIndex((one) => one >= hex);
    const below = above < 0 ? list.length : above;
    expect(found && lineOf({ key, removed: found.removed, value: found.bytes.slice(found.from, found.to) })).toBe(
      lines[at] ?? null,
    );
    if (at >= 0) expect(run.mayHold(new FilterKey().load(key, 0))).toBe(true);
    expect(sumsIn(run, new Uint8Array(family.keySize), key)).toEqual(sums[below]!);
    expect(sumsIn(run, key, null)).toEqual(difference(sums.at(-1)!, sums[below]!));
    expect(run.hasEntries(key, null)).toBe(below < list.length);
    expect(run.hasEntries(new Uint8Array(family.keySize), key)).toBe(below > 0);
    for (const size of [1, 6, family.keySize]) {
      const prefix = key.subarray(0, size);
      const visited: string[] = [];
      run.visitPrefix(prefix, (one) => visited.push(one.toHex()));
      expect(visited).toEqual(hexes.filter((one) => one.startsWith(prefix.toHex())));
    }
    const from = new RunCursor(run);
    from.seekFrom(key);
    expect(from.valid ? current(from) : null).toBe(lines[below] ?? null);
    const to = new RunCursor(run);
    to.seekBelow(key);
    expect(to.valid ? current(to) : null).toBe(lines[below - 1] ?? null);
  }
}

describe.each(RUN_FAMILIES.map((family) => [family.name, family] as const))('a run of %s', (_, family) => {
  test('gives all entries back in order, by key, and their sums', () => {
    fc.assert(
      fc.property(entriesFor(family, 60), (entries) => {
        const list = sorted(entries);
        withRuns(batchOf(family, entries), (run) => expectEqual(run, list, probes(family, list)));
      }),
      { numRuns: 12 },
    );
  });

  test('that is empty has no entries', () => {
    withRuns(new RunBatch(family), (run) => {
      expect(run.pages).toBe(0);
      expectEqual(run, [], [new Uint8Array(family.keySize), new Uint8Array(family.keySize).fill(0xff)]);
    });
  });

  test('that has one entry finds it and no other', () => {
    for (const fill of [0, 0x80, 0xff]) {
      const list = [{ key: new Uint8Array(family.keySize).fill(fill), removed: false, value: pairValue(5, 6) }];
      withRuns(batchOf(family, list), (run) => expectEqual(run, list, probes(family, list)));
    }
  });

  // 10,000 entries need several index blocks.
  test('that has many pages finds entries of each', () => {
    const list: EntryCopy[] = [];
    for (let i = 0; i < 10_000; i++) {
      const key = new Uint8Array(family.keySize);
      const view = new DataView(key.buffer);
      view.setUint32(0, Math.imul(i * 2, 65_537) >>> 0);
      view.setUint32(family.keySize - 4, i * 2);
      const value = new Uint8Array(60).fill(i);
      value.set(pairValue(i, 2 ** 49 + i));
      list.push({ key, removed: i % 7 === 0, value });
    }
    const inOrder = sorted(list);
    withRuns(batchOf(family, list), (run, size) => {
      expect(run.source.size).toBe(size);
      expect(run.pages).toBeGreaterThan(128);
      expect(entriesOf(run).map(lineOf)).toEqual(inOrder.map(lineOf));
      let wrong = 0;
      for (const { key, value, removed } of inOrder) {
        const found = run.find(key);
        if (found?.removed !== removed || found.bytes.slice(found.from, found.to).toHex() !== value.toHex()) wrong++;
        key[family.keySize - 1]!++;
        if (run.find(key) !== null) wrong++;
        key[family.keySize - 1]!--;
      }
      expect(wrong).toBe(0);
      const sums = runningSums(family, inOrder);
      for (let i = 0; i < inOrder.length; i += 97)
        expect(sumsIn(run, new Uint8Array(family.keySize), inOrder[i]!.key)).toEqual(sums[i]!);
      expect(plain(run.footer.sums)).toEqual(sums.at(-1)!);
      for (let from = 0; from < list.length; from += 517)
        for (let to = from; to < list.length; to += 701) {
          const [low, high] = [inOrder[from]!.key, inOrder[to]!.key];
          expect(sumsIn(run, low, high)).toEqual(difference(sums[to]!, sums[from]!));
          expect(run.hasEntries(low, high)).toBe(from < to);
        }
    });
  });
});

describe('a page', () => {
  const key = (n: number) => new Uint8Array(36).fill(n);
  const entry = (n: number, length: number) => ({ key: key(n), removed: false, value: new Uint8Array(length).fill(n) });

  // Header and checksum have 36 bytes; an entry has a byte of shared prefix, one to three of length, and its key.
  test('is filled up to its last byte, and the next entry begins another one', () => {
    for (let length = 4005; length <= 4025; length += 2) {
      const single = [entry(1, length), entry(2, 1)];
      withRuns(batchOf(COINS, single), (run) => expectEqual(run, single, probes(COINS, single)));
    }
    const first = 1000;
    const used = 36 + 1 + 2 + 36 + first;
    for (let rest = -3; rest <= 3; rest++) {
      const list = [entry(1, first), entry(2, 4096 - used - 4 - 36 + rest), entry(3, 1)];
      withRuns(batchOf(COINS, list), (run) => {
        expect(run.pages).toBe(2);
        expect(run.readPage(0)[0]).toBe(rest <= 0 ? 2 : 1);
        expectEqual(run, list, probes(COINS, list));
      });
    }
  });

  test('holds a script of 10,000 bytes and more, alone or after small entries', () => {
    const list = [entry(1, 5), entry(2, 10_000), entry(3, 10_015), entry(4, 5), entry(5, 65_536), entry(6, 1 << 19)];
    withRuns(batchOf(COINS, list), (run) => expectEqual(run, list, probes(COINS, list)));
    const removed = [{ ...entry(2, 0), removed: true }, entry(2, 10_000), entry(3, 10_000)];
    withRuns(batchOf(COINS, removed), (run) => expectEqual(run, removed, probes(COINS, removed)));
  });

  test('holds the removal and the addition of one key at any fill', () => {
    for (let length = 3850; length <= 4020; length += 1) {
      const list = [entry(1, length), { ...entry(2, 0), removed: true }, entry(2, 90), entry(3, 8)];
      const run = new Run(COINS, new MemorySource('memory', imageOf(batchOf(COINS, list))), true);
      expect(entriesOf(run).map(lineOf)).toEqual(list.map(lineOf));
      const found = run.find(key(2));
      expect([found?.removed, found && found.to - found.from]).toEqual([false, 90]);
    }
  });
});

describe('a batch', () => {
  test('sorts entries whose keys share their first bytes, however many there are', () => {
    for (const [family, count] of [
      [SCRIPT_COINS, 5000],
      [HISTORY, 17],
    ] as const) {
      const list: EntryCopy[] = [];
      for (let i = 0; i < count; i++) {
        const key = new Uint8Array(family.keySize).fill(9);
        new DataView(key.buffer).setUint32(family.keySize - 4, Math.imul(i, 0x9e3779b1) >>> 0);
        list.push({ key, removed: false, value: pairValue(i, 0) });
      }
      const run = new Run(family, new MemorySource('memory', imageOf(batchOf(family, list))), false);
      expect(entriesOf(run).map(lineOf)).toEqual(sorted(list).map(lineOf));
    }
  });

  test('leaves what remains of each key: nothing, an addition, a removal, or a removal and an addition', () => {
    const key = new Uint8Array(16).fill(3);
    const a = pairValue(1, 2);
    const b = pairValue(3, 4);
    const remains = (...steps: [removed: boolean, value: Uint8Array][]) => {
      const list = steps.map(([removed, value]) => ({ key, removed, value }));
      const run = new Run(HISTORY, new MemorySource('memory', imageOf(batchOf(HISTORY, list))), false);
      expect(plain(run.footer.sums)).toEqual(sumsOf(HISTORY, list));
      return entriesOf(run).map(({ removed, value }) => [removed, value.toHex()]);
    };
    expect(remains([false, a], [true, a])).toEqual([]);
    expect(remains([true, a], [false, a])).toEqual([]);
    expect(remains([true, a], [false, b])).toEqual([
      [true, a.toHex()],
      [false, b.toHex()],
    ]);
    expect(remains([true, a], [false, b], [true, b])).toEqual([[true, a.toHex()]]);
    expect(remains([true, a], [false, b], [true, b], [false, a])).toEqual([]);
    expect(remains([false, a], [true, a], [false, b])).toEqual([[false, b.toHex()]]);
  });
});

describe('a sum of 64 bits', () => {
  test('equals a bigint beyond 2^53 and below zero', () => {
    const step = fc.record({ value: fc.maxSafeNat(), subtract: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300, size: 'max' }), (steps) => {
        const sum = new Sum64();
        let expected = 0n;
        for (const { value, subtract } of steps) {
          sum.add(value, subtract);
          expected += subtract ? -BigInt(value) : BigInt(value);
        }
        expect(sum.value).toBe(expected);
        const view = new DataView(new ArrayBuffer(10));
        sum.put(view, 2);
        const loaded = new Sum64();
        loaded.load(view, 2);
        expect(loaded.value).toBe(expected);
      }),
    );
  });
});
