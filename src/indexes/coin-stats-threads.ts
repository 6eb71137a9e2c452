import { JobThread } from '../util/job-thread.ts';
import { startWorker } from '../util/worker.ts';
import {
  type CoinStatsJob,
  type CoinStatsResult,
  type CoinStatsTask,
  type CoinStatsTaskResult,
  runCoinStatsJob,
} from './coin-stats-job.ts';

/**
 * Bytes of blocks for each further thread of a job. A thread takes longer to start than the blocks take that come while the
 * node follows the chain.
 */
const BYTES_OF_THREAD = 4 * 1024 * 1024;

/** Threads that compute the statistics of the UTXO set. They start with the first job; a job of a few blocks needs one alone. */
export class CoinStatsThreads {
  readonly #threads: readonly JobThread<CoinStatsTask, CoinStatsTaskResult>[];

  constructor(count: number) {
    this.#threads = Array.from(
      { length: count },
      () =>
        new JobThread('coin stats', () => startWorker(new URL('./coin-stats-worker.ts', import.meta.url), 'coinstats')),
    );
  }

  /** Rejects if the job fails or the threads are closed. No other job may be running. */
  runJob(job: CoinStatsJob): Promise<CoinStatsResult> {
    const bytes = job.blocks.reduce((sum, { body }) => sum + body.size, 0);
    const used = this.#threads.slice(0, 1 + Math.floor(bytes / BYTES_OF_THREAD));
    return runCoinStatsJob(
      job,
      used.map((thread) => (task) => thread.runJob(task)),
    );
  }

  /** Ends the threads that follow the chain does not need. */
  async closeFurther(): Promise<void> {
    await Promise.all(this.#threads.slice(1).map((thread) => thread.close()));
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }
}
