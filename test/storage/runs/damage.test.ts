import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mergeRuns } from '../../../src/storage/runs/merge-runs.ts';
import { Run } from '../../../src/storage/runs/run.ts';
import { RunBuilder } from '../../../src/storage/runs/run-builder.ts';
import { RunCursor } from '../../../src/storage/runs/run-cursor.ts';
import { COINS, HISTORY, type RunFamily } from '../../../src/storage/runs/run-family.ts';
import { FilterKey, RunFilter } from '../../../src/storage/runs/run-filter.ts';
import { type EntrySums, FOOTER_SIZE } from '../../../src/storage/runs/run-format.ts';
import { allLiveEntries, sumEntries } from '../../../src/storage/runs/run-range.ts';
import { FileSink, FileSource, MemorySource } from '../../../src/storage/runs/run-source.ts';
import { DecodeError } from '../../../src/util/bytes.ts';
import { pairValue, RunModel } from '../../lib/run-model.ts';

const dir = mkdtempSync(join(tmpdir(), 'obverse-damage-'));
afterAll(() => rmSync(dir, { recursive: true }));

/** A file of several pages and two index blocks, with sums or with a filter. */
function writeFile(family: RunFamily, path: string): void {
  const model = new RunModel(family);
  const batch = model.commit(
    Array.from({ length: 400 }, (_, i) => {
      const key = new Uint8Array(family.keySize);
      new DataView(key.buffer).setUint32(0, Math.imul(i, 0x9e3779b1) >>> 0);
      const value = new Uint8Array(700).fill(i);
      value.set(pairValue(i, i * i));
      return { key, value, replace: false };
    }),
  );
  const sink = new FileSink(path);
  const builder = new RunBuilder(family, 1, sink, batch.count);
  batch.writeTo(builder);
  builder.finish();
  sink.finish();
}

type Answer = string | number | bigint | boolean | null;

/** All that a run answers: look-ups, scans forward, backward and ahead, and sums. */
function answers(family: RunFamily, run: Run): Answer[] {
  const list: Answer[] = [run.footer.entries, run.pages];
  const probe = new Uint8Array(family.keySize);
  for (let i = 0; i < 256; i += 3) {
    probe[0] = i;
    probe[1] = 0x80;
    const found = run.find(probe);
    list.push(found && Bun.hash(found.bytes.subarray(found.from, found.to)));
    list.push(run.hasEntries(probe, null), run.lastPageBelow(probe), run.lastPageUpTo(probe));
    const sums = sumEntries([run], new Uint8Array(family.keySize), probe);
    list.push(sums.count, sums.first, sums.second);
  }
  for (const { keys, keyAt, bytes, from, to } of allLiveEntries([run])) {
    const key = keys.slice(keyAt, keyAt + family.keySize);
    if (!run.mayHold(new FilterKey().load(key, 0))) list.push('the filter lacks a key');
    const found = run.find(key);
    list.push(
      key.toHex(),
      Bun.hash(bytes.subarray(from, to)),
      found && Bun.hash(found.bytes.subarray(found.from, found.to)),
    );
  }
  const cursor = new RunCursor(run);
  for (cursor.seekLast(); cursor.valid; cursor.previous())
    list.push(Bun.hash(cursor.keys.subarray(cursor.keyAt, cursor.keyAt + family.keySize)));
  const { count, first, second }: EntrySums = run.footer.sums;
  list.push(count.value, first.value, second.value);
  return list;
}

describe.each([
  ['coins', COINS],
  ['history', HISTORY],
] as const)('one flipped bit in a run of %s', (_, family) => {
  const path = join(dir, `${family.name}.run`);
  let intact: Buffer;
  let expected: Answer[];
  let parts: Record<'index' | 'summary' | 'filter' | 'footer', number>;

  beforeAll(() => {
    writeFile(family, path);
    intact = readFileSync(path);
    const run = new Run(family, new FileSource(path), true);
    expected = answers(family, run);
    const { indexAt, summaryAt, filterAt, footerAt } = run.footer;
    parts = { index: indexAt, summary: summaryAt, filter: filterAt, footer: footerAt };
    expect(run.pages).toBeGreaterThan(64);
    run.close();
  });

  /** Opens the damaged bytes and reads everything. Returns the error, or null if all answers are right. */
  function outcome(bytes: Uint8Array, pinned: boolean): Error | null {
    try {
      const run = new Run(family, new MemorySource(path, bytes), pinned);
      expect(answers(family, run)).toEqual(expected);
      return null;
    } catch (error) {
      expect(error).toBeInstanceOf(DecodeError);
      expect((error as Error).message).toStartWith(`run ${path} `);
      return error as Error;
    }
  }

  function flipped(at: number, bit: number): Uint8Array {
    const bytes = new Uint8Array(intact);
    bytes[at]! ^= 1 << bit;
    return bytes;
  }

  /** Every byte of the ranges, each with another bit, as far as `step` allows. */
  function* positions(from: number, to: number, step: number): Generator<[at: number, bit: number]> {
    for (let at = from; at < to; at += step) yield [at, (at * 5) % 8];
  }

  test('of a page is detected, also in its padding', () => {
    for (const [at, bit] of [...positions(0, 40, 3), ...positions(4080, parts.index, 4099)])
      expect([at, outcome(flipped(at, bit), at % 2 === 0) !== null]).toEqual([at, true]);
  });

  test('of a page is detected by a merge', () => {
    const image = flipped(4096 * 7 + 100, 3);
    const job = { chainDir: dir, family, id: 1, sources: [{ id: 2, bytes: image.length, image }], bottom: true };
    expect(() => mergeRuns(job)).toThrow(DecodeError);
  });

  test('of the index is detected when its block is read, also if it is not kept in memory', () => {
    for (const [at, bit] of positions(parts.index, parts.summary, 193))
      for (const pinned of [true, false]) expect(outcome(flipped(at, bit), pinned)).not.toBeNull();
  });

  test('of the summary and of the footer is detected when the run is opened', () => {
    const open = (bytes: Uint8Array) => new Run(family, new MemorySource(path, bytes), false);
    for (const [at, bit] of [
      ...positions(parts.summary, parts.filter, 5),
      ...positions(parts.footer, intact.length, 1),
    ])
      expect(() => open(flipped(at, bit))).toThrow(`run ${path} is damaged`);
    expect(intact.length - parts.footer).toBe(FOOTER_SIZE);
  });

  test('of the filter is detected when it is read', () => {
    for (const [at, bit] of positions(parts.filter, parts.footer, 13)) {
      expect(outcome(flipped(at, bit), true)).not.toBeNull();
      // Readers that do not use the filter do not read it.
      if (at % 10 === 0) expect(outcome(flipped(at, bit), false)).toBeNull();
    }
  });

  test('no truncated file is opened', () => {
    for (let size = 0; size < intact.length; size += size < 300 ? 1 : 4099)
      expect(() => new Run(family, new MemorySource(path, intact.subarray(0, size)), false)).toThrow(
        `run ${path} is damaged`,
      );
    for (const size of [intact.length - 1, intact.length - FOOTER_SIZE, parts.filter, parts.summary, parts.index])
      expect(() => new Run(family, new MemorySource(path, intact.subarray(0, size)), true)).toThrow(
        `run ${path} is damaged`,
      );
  });

  test('a file that is truncated while it is open is reported by name', () => {
    writeFileSync(path, intact);
    const run = new Run(family, new FileSource(path), false);
    truncateSync(path, 5000);
    expect(() => run.readPage(3)).toThrow(`run ${path} is damaged`);
    expect(() => answers(family, run)).toThrow(DecodeError);
    run.close();
    writeFileSync(path, intact);
  });

  // One part as a whole in the place of the same part of another run with the same entries.
  test('a part of another run is detected', () => {
    const other = join(dir, 'other.run');
    writeFile(family, other);
    const foreign = readFileSync(other);
    const { index, summary, filter, footer } = parts;
    const ranges: [name: string, from: number, to: number][] = [
      ['the first page', 0, 4096],
      ['a page', 4096 * 9, 4096 * 10],
      ['the index', index, summary],
      ['the footer', footer, intact.length],
    ];
    if (family.filterSize > 0) ranges.push(['the filter', filter, footer]);
    for (const [name, from, to] of ranges) {
      const bytes = new Uint8Array(intact);
      bytes.set(foreign.subarray(from, to), from);
      expect([name, outcome(bytes, true) !== null]).toEqual([name, true]);
    }
  });

  test('a page and an index block at another place of the same run are detected', () => {
    const blockSize = (family.keySize + 6) * 64 + 4;
    for (const [from, to, length] of [
      [4096 * 9, 4096 * 10, 4096],
      [0, 4096, 4096],
      [parts.index, parts.index + blockSize, blockSize],
    ] as const) {
      const bytes = new Uint8Array(intact);
      bytes.copyWithin(to, from, from + length);
      expect(outcome(bytes, true)).not.toBeNull();
      expect(outcome(bytes, false)).not.toBeNull();
    }
  });

  test('another run in the place of a listed one is detected when it is opened', () => {
    const source = new MemorySource(path, intact);
    expect(new Run(family, source, false, 1).footer.id).toBe(1);
    expect(() => new Run(family, source, false, 2)).toThrow(`run ${path} is damaged: it holds run 1`);
  });

  // As runs were written before checksums were bound to their place.
  test('a run of format 1 is read', () => {
    const bytes = new Uint8Array(intact);
    const view = new DataView(bytes.buffer);
    const sum = (from: number, to: number) => view.setUint32(to, Bun.hash.crc32(bytes.subarray(from, to)), true);
    for (let at = 0; at < parts.index; at += 4096) sum(at, at + 4092);
    const stride = (family.keySize + 6) * 64 + 4;
    for (let at = parts.index; at < parts.summary; at += stride) sum(at, Math.min(at + stride, parts.summary) - 4);
    bytes[parts.footer + 8] = 1;
    if (family.filterSize > 0) {
      // The filter held txids.
      const run = new Run(family, new MemorySource(path, intact), true);
      const filter = new RunFilter(new Uint32Array((parts.footer - parts.filter) / 4), run.footer.salt, false);
      for (const { keys, keyAt } of allLiveEntries([run])) filter.addKey(keys, keyAt);
      bytes.set(new Uint8Array(filter.words.buffer), parts.filter);
      bytes[parts.footer + 11] = 32;
      view.setUint32(parts.footer + 72, Bun.hash.crc32(bytes.subarray(parts.filter, parts.footer)), true);
    }
    view.setUint32(parts.footer + 12, 0);
    sum(parts.footer, bytes.length - 4);
    for (const pinned of [true, false]) expect(outcome(bytes, pinned)).toBeNull();
    expect(new Run(family, new MemorySource(path, bytes), false, 77).pages).toBeGreaterThan(64);
    bytes[4096 * 7 + 100]! ^= 8;
    expect(outcome(bytes, true)?.message).toBe(`run ${path} is damaged in page 7`);
  });
});
