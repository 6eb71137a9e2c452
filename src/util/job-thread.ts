import { assert } from './assert.ts';
import { noteProgress } from './progress.ts';
import { yieldToReplies } from './serving.ts';
import { announceStart } from './worker.ts';

/** The result of a job, or the message of its error. */
type JobReply<R> = { readonly result: R } | { readonly error: string };

/** A thread that carries out one job at a time. It starts with the first one. */
export class JobThread<J, R> {
  readonly #name: string;
  readonly #startWorker: () => Worker;
  #worker: Worker | null = null;
  #pending: PromiseWithResolvers<R> | null = null;

  /** `startWorker` starts a thread that calls `serveJobs`; `name` is that of the thread in errors. */
  constructor(name: string, startWorker: () => Worker) {
    this.#name = name;
    this.#startWorker = startWorker;
  }

  /** Resolves to the result. Rejects if the job fails or the thread is closed. No other job may be running. */
  runJob(job: J): Promise<R> {
    assert(this.#pending === null, `the ${this.#name} thread has one job at a time`);
    this.#worker ??= this.#start();
    this.#pending = Promise.withResolvers<R>();
    this.#worker.postMessage(job);
    return this.#pending.promise;
  }

  /** Ends the thread. The next start removes what a running job has written. */
  close(): void {
    this.#worker?.terminate();
    this.#worker = null;
    this.#fail(new Error(`the ${this.#name} thread is closed`));
  }

  #start(): Worker {
    const worker = this.#startWorker();
    worker.onmessage = ({ data }: MessageEvent<JobReply<R>>) => {
      const pending = this.#pending;
      this.#pending = null;
      if ('result' in data) pending?.resolve(data.result);
      else pending?.reject(new Error(data.error));
    };
    worker.onerror = ({ message }) => {
      this.#worker = null;
      this.#fail(new Error(`the ${this.#name} thread failed: ${message}`));
    };
    return worker;
  }

  #fail(error: Error): void {
    this.#pending?.reject(error);
    this.#pending = null;
  }
}

declare const self: Worker;

/** Carries out the jobs of a JobThread, at a lower priority once clients are served. A worker calls it once, before everything else. */
export function serveJobs<J, R>(nice: number, run: (job: J, onProgress: () => void) => R): void {
  announceStart();
  const onProgress = () => {
    noteProgress();
    yieldToReplies(nice);
  };
  self.onmessage = ({ data: job }: MessageEvent<J>) => {
    yieldToReplies(nice);
    let reply: JobReply<R>;
    try {
      reply = { result: run(job, onProgress) };
    } catch (error) {
      reply = { error: error instanceof Error ? error.message : String(error) };
    }
    self.postMessage(reply);
  };
}
