import type { Log } from '../util/log.ts';
import { NoRoomForThread, startWorker } from '../util/worker.ts';
import { ApiError } from './errors.ts';
import type { ReaderJob, ReaderResult } from './reader-jobs.ts';
import { CLOSED, type FromReader, type ToReader } from './reader-messages.ts';
import type { ReadSources } from './readers/read-settings.ts';

export interface ReaderPoolOptions {
  /** The folder of the chain, and the network's directory, in which wallets lie. */
  readonly chainDir: string;
  readonly networkDir: string;
  readonly sources: ReadSources;
  readonly workers: number;
  /** Jobs that may wait; one more is refused as `overloaded`. */
  readonly queue: number;
  /** A JSON-RPC call that has taken so long is one of the long ones. Default 1000. */
  readonly shortMs?: number;
  readonly log: Log;
}

/** The longest a thread is waited for at the end. */
const CLOSE_MS = 1000;
const SHORT_MS = 1000;

interface Waiting {
  readonly id: number;
  readonly job: ReaderJob;
  long: boolean;
  readonly resolve: (result: ReaderResult) => void;
  readonly reject: (error: unknown) => void;
  done: boolean;
}

interface Reader {
  readonly worker: Worker;
  readonly cancelled: Int32Array;
  running: Waiting | null;
}

/**
 * Threads that make long answers, each on its own connection. They start with the first job, so that a program that
 * needs none has none.
 */
export class ReaderPool {
  readonly #options: ReaderPoolOptions;
  readonly #readers: Reader[] = [];
  readonly #queue: Waiting[] = [];
  #lastId = 0;
  #closed = false;

  constructor(options: ReaderPoolOptions) {
    this.#options = options;
  }

  /**
   * Does a job. `long` ones may take minutes and never occupy every thread. JSON-RPC has no time limit, so a call that
   * turns out to be long gives its thread up and begins again as one of them. Rejects with ApiError `overloaded` when
   * too many wait, and as soon as the signal aborts.
   */
  run(job: ReaderJob, { signal, long = false }: { signal: AbortSignal; long?: boolean }): Promise<ReaderResult> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new ApiError('shutting_down'));
      if (signal.aborted) return reject(givenUp());
      if (this.#queue.length >= this.#options.queue)
        return reject(new ApiError('overloaded', 'too many long answers are waiting'));
      const abort = () => this.#cancel(waiting);
      const settle =
        <T>(how: (value: T) => void) =>
        (value: T) => {
          if (waiting.done) return;
          waiting.done = true;
          signal.removeEventListener('abort', abort);
          how(value);
        };
      const id = (this.#lastId = (this.#lastId % 0x7fff_ffff) + 1);
      const waiting: Waiting = { id, job, long, resolve: settle(resolve), reject: settle(reject), done: false };
      signal.addEventListener('abort', abort, { once: true });
      this.#queue.push(waiting);
      this.#dispatch();
    });
  }

  /** Refuses what runs or waits, and resolves when the threads have closed their connections and ended. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const waiting of this.#queue.splice(0)) waiting.reject(new ApiError('shutting_down'));
    const ended = this.#readers.splice(0).map(({ worker, running, cancelled }) => {
      if (running) Atomics.store(cancelled, 0, running.id);
      running?.reject(new ApiError('shutting_down'));
      const closed = new Promise<void>((resolve) => {
        worker.onmessage = ({ data }: MessageEvent<FromReader>) => {
          if (data.id === CLOSED) resolve();
        };
      });
      worker.postMessage({ type: 'close' } satisfies ToReader);
      // Ended in the midst of a read, a thread would leave its connection open.
      return Promise.race([closed, Bun.sleep(CLOSE_MS)]).then(() => worker.terminate());
    });
    await Promise.all(ended);
  }

  #cancel(waiting: Waiting): void {
    const at = this.#queue.indexOf(waiting);
    if (at >= 0) this.#queue.splice(at, 1);
    for (const { running, cancelled } of this.#readers)
      if (running === waiting) Atomics.store(cancelled, 0, waiting.id);
    waiting.reject(givenUp());
  }

  #dispatch(): void {
    while (this.#queue.length > 0) {
      const longRunning = this.#readers.filter(({ running }) => running?.long).length;
      const longAllowed = longRunning < Math.max(1, this.#options.workers - 1);
      const at = this.#queue.findIndex(({ long }) => longAllowed || !long);
      if (at < 0) return;
      const reader = this.#readers.find(({ running }) => running === null) ?? this.#startIfRoom();
      if (!reader) return;
      const [waiting] = this.#queue.splice(at, 1);
      reader.running = waiting!;
      const { id, job, long } = waiting!;
      const maxMs = job.kind === 'rpc' && !long ? (this.#options.shortMs ?? SHORT_MS) : null;
      reader.worker.postMessage({ type: 'job', id, job, maxMs } satisfies ToReader);
    }
  }

  /** Null where all threads are there, or another cannot be started now. */
  #startIfRoom(): Reader | null {
    try {
      return this.#start();
    } catch (error) {
      if (!(error instanceof NoRoomForThread)) throw error;
      // Those that run go on with what waits; without any, nobody would.
      if (this.#readers.length === 0)
        for (const waiting of this.#queue.splice(0)) waiting.reject(new ApiError('overloaded', 'too many connections'));
      return null;
    }
  }

  #start(): Reader | null {
    if (this.#readers.length >= this.#options.workers) return null;
    const { chainDir, networkDir, sources, log } = this.#options;
    const worker = startWorker(new URL('./reader-worker.ts', import.meta.url), 'reader');
    const cancelled = new SharedArrayBuffer(4);
    const reader: Reader = { worker, cancelled: new Int32Array(cancelled), running: null };
    worker.onmessage = ({ data }: MessageEvent<FromReader>) => this.#finish(reader, data);
    worker.onerror = ({ message }) => {
      log.error('a reader worker failed', { message });
      this.#lose(reader);
    };
    worker.addEventListener('close', () => this.#lose(reader));
    worker.postMessage({ type: 'open', chainDir, networkDir, sources, cancelled } satisfies ToReader);
    // Waiting for work is no reason to keep the program alive.
    worker.unref();
    this.#readers.push(reader);
    return reader;
  }

  #finish(reader: Reader, { id, result, error, tookTooLong }: FromReader): void {
    const waiting = reader.running;
    if (waiting?.id !== id) return;
    reader.running = null;
    if (tookTooLong) {
      waiting.long = true;
      if (!waiting.done) this.#queue.push(waiting);
    } else if (result) waiting.resolve(result);
    else {
      if (error) this.#options.log.error('a long answer failed', { error });
      waiting.reject(new ApiError('internal_error'));
    }
    this.#dispatch();
  }

  /** A thread that ended is replaced by the next job. */
  #lose(reader: Reader): void {
    const at = this.#readers.indexOf(reader);
    if (at < 0) return;
    this.#readers.splice(at, 1);
    reader.running?.reject(new ApiError('internal_error'));
    reader.worker.terminate();
    if (!this.#closed) this.#dispatch();
  }
}

/** Out of time, or the client has left and sees nothing of this. */
function givenUp(): ApiError {
  return new ApiError('overloaded', 'the answer took too long');
}
