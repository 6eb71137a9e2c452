import { startWorker } from '../util/worker.ts';
import type { IndexJob, IndexJobResult } from './index-job.ts';
import type { IndexReply } from './index-worker.ts';

/** A thread that makes the rows of indexes, one job at a time. It starts with the first one. */
export class IndexThread {
  #worker: Worker | null = null;
  #pending: PromiseWithResolvers<IndexJobResult> | null = null;

  /** Resolves to the result. Rejects if the job fails or the thread is closed. No other job may be running. */
  runJob(job: IndexJob): Promise<IndexJobResult> {
    this.#worker ??= this.#start();
    this.#pending = Promise.withResolvers<IndexJobResult>();
    this.#worker.postMessage(job);
    return this.#pending.promise;
  }

  /** Ends the thread. The next start removes what a running job has written. */
  close(): void {
    this.#worker?.terminate();
    this.#worker = null;
    this.#fail(new Error('the index thread is closed'));
  }

  #start(): Worker {
    const worker = startWorker(new URL('./index-worker.ts', import.meta.url), 'index');
    worker.onmessage = ({ data }: MessageEvent<IndexReply>) => {
      const pending = this.#pending;
      this.#pending = null;
      if ('result' in data) pending?.resolve(data.result);
      else pending?.reject(new Error(data.error));
    };
    worker.onerror = ({ message }) => {
      this.#worker = null;
      this.#fail(new Error(`the index thread failed: ${message}`));
    };
    return worker;
  }

  #fail(error: Error): void {
    this.#pending?.reject(error);
    this.#pending = null;
  }
}
