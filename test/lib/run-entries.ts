import { Run } from '../../src/storage/runs/run.ts';
import type { RunBatch } from '../../src/storage/runs/run-batch.ts';
import { RunBuilder } from '../../src/storage/runs/run-builder.ts';
import { RunCursor } from '../../src/storage/runs/run-cursor.ts';
import type { RunFamily } from '../../src/storage/runs/run-family.ts';
import { FOOTER_SIZE } from '../../src/storage/runs/run-format.ts';
import type { RunLists } from '../../src/storage/runs/run-lists.ts';
import { MemorySink, MemorySource } from '../../src/storage/runs/run-source.ts';

/** An entry of a run or a batch, with copies of its bytes. */
export interface EntryCopy {
  readonly key: Uint8Array;
  readonly removed: boolean;
  readonly value: Uint8Array;
}

let nextId = 1;

/** Returns an id that no other run of this process has. */
export function newRunId(): number {
  return nextId++;
}

/** Returns the bytes of the run of a batch. */
export function imageOf(batch: RunBatch, id = newRunId()): Uint8Array {
  const sink = new MemorySink();
  const builder = new RunBuilder(batch.family, id, sink, batch.count);
  batch.writeTo(builder);
  builder.finish();
  return sink.finish();
}

/** Returns the run of a batch, in memory. */
export function runOf(batch: RunBatch, pinned = false): Run {
  return new Run(batch.family, new MemorySource(batch.family.name, imageOf(batch)), pinned);
}

/** Returns the id in the footer of a run. */
export function idOfImage(image: Uint8Array): number {
  return new DataView(image.buffer, image.byteOffset, image.length).getUint32(image.length - FOOTER_SIZE + 12, true);
}

/** Returns all entries of a run in order. */
export function entriesOf(run: Run): EntryCopy[] {
  const { keySize } = run.family;
  const entries: EntryCopy[] = [];
  const cursor = new RunCursor(run);
  for (cursor.seekFirst(); cursor.valid; cursor.next()) {
    const { keys, keyAt, removed, bytes, from, to } = cursor;
    entries.push({ key: keys.slice(keyAt, keyAt + keySize), removed, value: bytes.slice(from, to) });
  }
  return entries;
}

/** Runs in memory, to which each commit adds one of each family. */
export class MemoryRuns implements RunLists {
  readonly #runs = new Map<RunFamily, Run[]>();

  commit(batches: Iterable<RunBatch>): void {
    for (const batch of batches)
      this.#runs.set(batch.family, [runOf(batch, true), ...(this.#runs.get(batch.family) ?? [])]);
  }

  runsOf(family: RunFamily): readonly Run[] {
    return this.#runs.get(family) ?? [];
  }
}
