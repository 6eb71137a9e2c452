import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { RunBatch, type SharedBatch } from './run-batch.ts';
import { type BuiltRun, buildRun } from './run-builder.ts';
import { runFileName, runFolder } from './run-manifest.ts';

/** Batches of one commit whose runs are built in files, with the ids of the runs. All of it can be sent to a worker. */
export interface BuildJob {
  readonly chainDir: string;
  readonly batches: readonly { readonly id: number; readonly batch: SharedBatch }[];
}

/** Builds the runs of a job. */
export type RunsBuilder = (job: BuildJob) => Promise<readonly BuiltRun[]>;

/** Builds the runs, whose files are durable then. Leaves no file behind if one fails. Calls `onProgress` now and then. */
export function buildRuns({ chainDir, batches }: BuildJob, onProgress: () => void = () => {}): readonly BuiltRun[] {
  const paths = batches.map(({ id, batch }) => join(runFolder(chainDir), runFileName(id, batch.family)));
  try {
    return batches.map(({ id, batch: shared }, i) => {
      onProgress();
      const batch = RunBatch.fromShared(shared);
      return buildRun(batch.family, id, paths[i]!, batch.count, (builder) => batch.writeTo(builder));
    });
  } catch (error) {
    for (const path of paths) rmSync(path, { force: true });
    throw error;
  }
}
