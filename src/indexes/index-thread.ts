import { JobThread } from '../util/job-thread.ts';
import { startWorker } from '../util/worker.ts';
import type { IndexJob, IndexJobResult } from './index-job.ts';

/** Returns a thread that makes the rows of indexes. */
export function indexThread(): JobThread<IndexJob, IndexJobResult> {
  return new JobThread('index', () => startWorker(new URL('./index-worker.ts', import.meta.url), 'index'));
}
