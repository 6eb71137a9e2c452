import { JobThread } from '../util/job-thread.ts';
import { startWorker } from '../util/worker.ts';
import type { BatchReply, RowsJob } from './block-batch.ts';

/** Returns a thread that makes the rows of blocks while another one sends those of the batch before. */
export function rowsThread(): JobThread<RowsJob, BatchReply> {
  return new JobThread('rows', () => startWorker(new URL('./rows-worker.ts', import.meta.url), 'sink'));
}
