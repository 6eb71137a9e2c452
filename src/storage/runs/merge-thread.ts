import { JobThread } from '../../util/job-thread.ts';
import { startWorker } from '../../util/worker.ts';
import type { MergeJob } from './merge-runs.ts';
import type { BuiltRun } from './run-builder.ts';

/** Returns a thread that merges runs. */
export function mergeThread(): JobThread<MergeJob, BuiltRun> {
  return new JobThread('merge', () => startWorker(new URL('./merge-worker.ts', import.meta.url), 'merge'));
}
