import { diskProblem } from '../../util/disk-problem.ts';
import type { Log } from '../../util/log.ts';
import type { MergeJob } from './merge-runs.ts';
import type { BuiltRun } from './run-builder.ts';
import type { RunStore } from './run-store.ts';

/** Merges the runs of one job. */
export type RunMerger = (job: MergeJob) => Promise<BuiltRun>;

/** Time after which a merge is tried again that a full or failing disk has interrupted, milliseconds. */
const RETRY_MS = 60_000;

/**
 * Merges runs one job after another while commits go on. After a failure of the disk a commit of a minute later tries
 * again; after any other failure it stops until the next start. Commits go on as long as their runs are below the limit.
 */
export class BackgroundMerges {
  readonly #store: RunStore;
  readonly #merge: RunMerger;
  readonly #log: Log;
  readonly #retryMs: number;
  #running: Promise<void> | null = null;
  #closed = false;
  #failure: Error | null = null;
  /** Monotonic time from which the next merge may start after a failure. */
  #retryAt = 0;

  constructor(store: RunStore, merge: RunMerger, log: Log, retryMs = RETRY_MS) {
    this.#store = store;
    this.#merge = merge;
    this.#log = log;
    this.#retryMs = retryMs;
  }

  /** Starts the next job that is due, unless one runs. Must not be called within a transaction. */
  schedule(): void {
    if (this.#running !== null || this.#closed) return;
    if (this.#failure !== null && performance.now() < this.#retryAt) return;
    this.#failure = null;
    const job = this.#store.beginMerge();
    if (job === null) return;
    this.#running = this.#run(job).finally(() => {
      this.#running = null;
      this.schedule();
    });
  }

  /** Whether the next commit should wait for merges. */
  get behind(): boolean {
    return this.#store.mergesBehind;
  }

  /**
   * Resolves when commits need not wait. Rejects if merges have failed, since the number of runs must not grow further.
   */
  async caughtUp(): Promise<void> {
    while (this.behind && this.#running !== null) await this.#running;
    if (this.behind && this.#failure !== null) throw this.#failure;
  }

  /** Ends the use of the store; a running job is dropped. */
  close(): void {
    this.#closed = true;
  }

  async #run(job: MergeJob): Promise<void> {
    const started = performance.now();
    try {
      const result = await this.#merge(job);
      if (this.#closed) return;
      this.#store.finishMerge(result);
      this.#log.debug('runs merged', {
        family: job.family.name,
        runs: job.sources.length,
        entries: result.entries,
        bytes: result.bytes,
        ms: Math.round(performance.now() - started),
      });
    } catch (error) {
      if (this.#closed) return;
      this.#failure = error instanceof Error ? error : new Error(String(error));
      const disk = diskProblem(error);
      this.#retryAt = disk === null ? Number.POSITIVE_INFINITY : performance.now() + this.#retryMs;
      if (disk === null) {
        this.#log.error('merging of runs stopped; reads become slower until the next start', { error });
        return;
      }
      this.#store.abandonMerge();
      this.#log.error('merging of runs stopped, and is tried again in a minute; reads become slower meanwhile', {
        error,
        family: job.family.name,
        problem: disk,
      });
    }
  }
}
