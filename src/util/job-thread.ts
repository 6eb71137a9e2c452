import { assert } from './assert.ts';
import { noteProgress } from './progress.ts';
import { yieldToReplies } from './serving.ts';
import { announceStart } from './worker.ts';

/** Sent once when the thread has loaded. */
const LOADED = 'loaded';

/** The result of a job, or the message of its error. */
type JobReply<R> = { readonly result: R } | { readonly error: string };

interface Thread {
  readonly worker: Worker;
  /** Resolves to whether the thread has loaded; false if it has failed before. */
  readonly loaded: PromiseWithResolvers<boolean>;
}

/** A thread that carries out one job at a time. It starts with the first one. */
export class JobThread<J, R> {
  readonly #name: string;
  readonly #startWorker: () => Worker;
  #thread: Thread | null = null;
  #pending: PromiseWithResolvers<R> | null = null;

  /** `startWorker` starts a thread that calls `serveJobs`; `name` is that of the thread in errors. */
  constructor(name: string, startWorker: () => Worker) {
    this.#name = name;
    this.#startWorker = startWorker;
  }

  /** Resolves to the result. Rejects if the job fails or the thread is closed. No other job may be running. */
  runJob(job: J): Promise<R> {
    assert(this.#pending === null, `the ${this.#name} thread has one job at a time`);
    this.#thread ??= this.#start();
    this.#pending = Promise.withResolvers<R>();
    void this.#post(this.#thread, job);
    return this.#pending.promise;
  }

  /** A thread that is closed while it loads receives no job, so it writes nothing afterwards. */
  async #post(thread: Thread, job: J): Promise<void> {
    if ((await thread.loaded.promise) && this.#thread === thread) thread.worker.postMessage(job);
  }

  /**
   * Rejects the running job and ends the thread. The next start of the node removes what the job has written. Resolves when
   * the thread is ended: one that is terminated while it loads its modules can abort the whole process, so it loads first.
   */
  async close(): Promise<void> {
    const thread = this.#thread;
    this.#thread = null;
    this.#fail(new Error(`the ${this.#name} thread is closed`));
    if (thread && (await thread.loaded.promise)) thread.worker.terminate();
  }

  #start(): Thread {
    const worker = this.#startWorker();
    const thread: Thread = { worker, loaded: Promise.withResolvers() };
    worker.onmessage = ({ data }: MessageEvent<JobReply<R> | typeof LOADED>) => {
      if (data === LOADED) {
        thread.loaded.resolve(true);
        return;
      }
      // A reply of a thread that is being closed belongs to no job.
      if (this.#thread !== thread) return;
      const pending = this.#pending;
      this.#pending = null;
      if ('result' in data) pending?.resolve(data.result);
      else pending?.reject(new Error(data.error));
    };
    worker.addEventListener('close', () => thread.loaded.resolve(false), { once: true });
    worker.onerror = ({ message }) => {
      thread.loaded.resolve(false);
      if (this.#thread !== thread) return;
      this.#thread = null;
      this.#fail(new Error(`the ${this.#name} thread failed: ${message}`));
    };
    return thread;
  }

  #fail(error: Error): void {
    this.#pending?.reject(error);
    this.#pending = null;
  }
}

declare const self: Worker;

/**
 * Carries out the jobs of a JobThread, at a lower priority once clients are served. A worker calls it once, before everything
 * else. `buffersOf` returns the buffers of a result that are moved and not copied.
 */
export function serveJobs<J, R>(
  nice: number,
  run: (job: J, onProgress: () => void) => R,
  buffersOf: (result: R) => ArrayBuffer[] = () => [],
): void {
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
    self.postMessage(reply, 'result' in reply ? buffersOf(reply.result) : []);
  };
  self.postMessage(LOADED);
}
