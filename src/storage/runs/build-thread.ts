import { JobThread } from '../../util/job-thread.ts';
import { startWorker } from '../../util/worker.ts';
import type { BuildJob } from './build-runs.ts';
import type { BuiltRun } from './run-builder.ts';

/** Returns a thread that builds the runs of large commits. */
export function buildThread(): JobThread<BuildJob, readonly BuiltRun[]> {
  return new JobThread('build', () => startWorker(new URL('./build-worker.ts', import.meta.url), 'build'));
}
