import { join } from 'node:path';
import { MergeScan } from './merge-scan.ts';
import { Run } from './run.ts';
import { type BuiltRun, buildRun, type RunBuilder } from './run-builder.ts';
import { RunCursor } from './run-cursor.ts';
import type { RunFamily } from './run-family.ts';
import { runFileName, runFolder } from './run-manifest.ts';
import { FileSource, MemorySource, type RunSource } from './run-source.ts';

/** Runs up to this size are stored in the database, larger ones in files. */
export const IMAGE_LIMIT = 1 << 20;

/** Runs of one family that become one. All of it can be sent to a worker. */
export interface MergeJob {
  readonly chainDir: string;
  readonly family: RunFamily;
  /** Id of the new run. */
  readonly id: number;
  /** The oldest first. A run in the database comes with its bytes. */
  readonly sources: readonly { readonly id: number; readonly bytes: number; readonly image: Uint8Array | null }[];
  /** Whether no older run exists, so that removals need not be kept. */
  readonly bottom: boolean;
}

/** Merges runs into a new one. Calls `onProgress` now and then. */
export function mergeRuns(job: MergeJob, onProgress: () => void = () => {}): BuiltRun {
  const { chainDir, family, id, sources } = job;
  const open: RunSource[] = [];
  try {
    const cursors = sources.map((source) => {
      const bytes: RunSource =
        source.image === null
          ? new FileSource(join(runFolder(chainDir), runFileName(source.id, family)))
          : new MemorySource(`${family.name} ${source.id}`, source.image);
      open.push(bytes);
      const cursor = new RunCursor(new Run(family, bytes, false, source.id), true);
      cursor.seekFirst();
      return cursor;
    });
    const inMemory = sources.reduce((sum, { bytes }) => sum + bytes, 0) <= IMAGE_LIMIT;
    const path = inMemory ? null : join(runFolder(chainDir), runFileName(id, family));
    const expected = cursors.reduce((sum, { run }) => sum + run.footer.entries, 0);
    return buildRun(family, id, path, expected, (builder) => writeMerged(cursors, builder, job.bottom, onProgress));
  } finally {
    for (const source of open) source.close();
  }
}

const PROGRESS_STEPS = 1 << 16;

/**
 * Adds what remains of the entries of runs to a new one. `cursors`: the oldest run first, each at its first entry.
 * `bottom`: whether no older run exists. Calls `onProgress` now and then.
 */
export function writeMerged(
  cursors: readonly RunCursor[],
  builder: RunBuilder,
  bottom: boolean,
  onProgress: () => void,
): void {
  const scan = new MergeScan(cursors);
  for (let step = 1; scan.next(); step++) {
    if (step % PROGRESS_STEPS === 0) onProgress();
    for (const { removed, bytes, from, to } of scan.entries) {
      if (removed && bottom) continue;
      builder.addEntry(scan.keys, scan.keyAt, removed, bytes, from, to);
    }
  }
}
