import { startWorker } from '../../util/worker.ts';
import type { MergeJob } from './merge-runs.ts';
import type { MergeReply } from './merge-worker.ts';
import type { BuiltRun } from './run-builder.ts';

/** A thread that merges runs, one job at a time. It starts with the first one. */
export class MergeThread {
  #worker: Worker | null = null;
  #pending: PromiseWithResolvers<BuiltRun> | null = null;

  /** Resolves to the result. Rejects if the merge fails or the thread is closed. No other job may be running. */
  mergeRuns(job: MergeJob): Promise<BuiltRun> {
    this.#worker ??= this.#start();
    this.#pending = Promise.withResolvers<BuiltRun>();
    this.#worker.postMessage(job);
    return this.#pending.promise;
  }

  /** Ends the thread. The next start removes what a running merge has written. */
  close(): void {
    this.#worker?.terminate();
    this.#worker = null;
    this.#fail(new Error('the merge thread is closed'));
  }

  #start(): Worker {
    const worker = startWorker(new URL('./merge-worker.ts', import.meta.url), 'merge');
    worker.onmessage = ({ data }: MessageEvent<MergeReply>) => {
      const pending = this.#pending;
      this.#pending = null;
      if ('result' in data) pending?.resolve(data.result);
      else pending?.reject(new Error(data.error));
    };
    worker.onerror = ({ message }) => {
      this.#worker = null;
      this.#fail(new Error(`the merge thread failed: ${message}`));
    };
    return worker;
  }

  #fail(error: Error): void {
    this.#pending?.reject(error);
    this.#pending = null;
  }
}
