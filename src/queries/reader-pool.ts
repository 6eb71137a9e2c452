import { ApiError } from '../http/errors.ts';
import { NODE, type Owner } from '../http/owner.ts';
import { FairQueue } from '../util/fair-queue.ts';
import type { Log } from '../util/log.ts';
import { NoRoomForThread } from '../util/worker.ts';
import type { ReadSources } from './read-settings.ts';
import type { ReaderJob, ReaderResult } from './reader-jobs.ts';
import { type FromReader, READER_CLOSED, type ToReader } from './reader-messages.ts';

export interface ReaderPoolOptions {
  /** The directory of the chain. */
  readonly chainDir: string;
  readonly sources: ReadSources;
  /** Number of threads for short jobs, and of further threads for long jobs, each of a different owner. */
  readonly workers: number;
  readonly longWorkers: number;
  /** Number of threads for short jobs of owners with no other running job. Default 0. */
  readonly reservedWorkers?: number;
  /** Limits of waiting jobs: of one owner, and in total. */
  readonly perKey: number;
  readonly total: number;
  /** Running time after which a job counts as long. Default 1000. */
  readonly shortMs?: number;
  /** Whether a reply may be made for an owner now; `dispatch` is called when that changes. */
  readonly hasRoom?: (owner: Owner) => boolean;
  /** Starts a thread that runs `reader-worker.ts`. Throws NoRoomForThread. */
  readonly startReader: () => Worker;
  readonly log: Log;
}

export interface RunOptions {
  readonly signal: AbortSignal;
  /** Whether the job may take minutes. */
  readonly long?: boolean;
  /** The owner of the job; the node itself where absent. */
  readonly owner?: Owner;
}

/** Time limit for a thread to close at the end. */
const CLOSE_MS = 1000;
/** Nice values of the threads, so that an owner with few jobs is not delayed by owners with many. */
const NICE = { reserved: 0, shared: 5, long: 10 } as const;
type ReaderKind = keyof typeof NICE;

const SHORT_MS = 1000;
/** A thread for long jobs ends after this idle time. */
const IDLE_MS = 30_000;

interface Waiting {
  readonly id: number;
  readonly job: ReaderJob;
  readonly owner: Owner;
  long: boolean;
  readonly resolve: (result: ReaderResult) => void;
  readonly reject: (error: unknown) => void;
  done: boolean;
  startedAt: number;
}

interface Reader {
  readonly worker: Worker;
  readonly kind: ReaderKind;
  readonly cancelled: Int32Array;
  running: Waiting | null;
  idle: ReturnType<typeof setTimeout> | null;
}

/**
 * Threads that run reader jobs, each on its own connection. They start with the first job. Owners are scheduled by the
 * time that their jobs have taken.
 */
export class ReaderPool {
  readonly #options: ReaderPoolOptions;
  readonly #readers: Reader[] = [];
  readonly #queue: FairQueue<Waiting>;
  #lastId = 0;
  #closed = false;

  constructor(options: ReaderPoolOptions) {
    this.#options = options;
    this.#queue = new FairQueue(options);
  }

  /**
   * Runs a job. `long` jobs may take minutes, and run in threads of their own, one per owner. A job that turns out to
   * be long leaves its thread and starts again as a long one. Rejects with ApiError `rate_limited` when too many jobs
   * of its owner wait, with `overloaded` when too many wait in total, and when the signal aborts.
   */
  run(job: ReaderJob, { signal, long = false, owner = NODE }: RunOptions): Promise<ReaderResult> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new ApiError('shutting_down'));
      if (signal.aborted) return reject(givenUp());
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
      const settled = { resolve: settle(resolve), reject: settle(reject), done: false };
      const waiting: Waiting = { id, job, owner, long, ...settled, startedAt: 0 };
      if (!this.#enqueue(waiting)) return;
      signal.addEventListener('abort', abort, { once: true });
      this.dispatch();
    });
  }

  /** Assigns waiting jobs to idle threads. */
  dispatch(): void {
    for (;;) {
      const next = this.#queue.dequeue((waiting) => this.#mayStart(waiting));
      if (!next) return;
      const { key, item: waiting } = next;
      const kind = this.#kindFor(waiting)!;
      const reader = this.#readers.find((each) => each.running === null && each.kind === kind);
      if (reader) this.#begin(reader, waiting);
      else if (!this.#startFor(waiting, kind)) {
        this.#queue.complete(key, 0);
        // Running readers serve the queue when they finish; without one, the jobs would wait forever.
        if (this.#readers.some(({ running }) => running !== null)) return;
      }
    }
  }

  /** Refuses running and waiting jobs, and resolves when all threads have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const waiting of this.#queue.drain()) waiting.reject(new ApiError('shutting_down'));
    const ended = this.#readers.splice(0).map((reader) => {
      const { running, cancelled } = reader;
      if (running) Atomics.store(cancelled, 0, running.id);
      running?.reject(new ApiError('shutting_down'));
      return closeThread(reader);
    });
    await Promise.all(ended);
  }

  /** Returns false where the queue is full and the job was refused. */
  #enqueue(waiting: Waiting): boolean {
    const enqueued = this.#queue.enqueue(waiting.owner, waiting);
    if (enqueued.ok) {
      enqueued.displaced?.reject(tooMany());
      return true;
    }
    waiting.reject(
      enqueued.full === 'key' ? tooMany() : new ApiError('overloaded', 'too many long requests are waiting'),
    );
    return false;
  }

  #mayStart(waiting: Waiting): boolean {
    return this.#kindFor(waiting) !== null && (this.#options.hasRoom?.(waiting.owner) ?? true);
  }

  /** Returns the kind of thread that can start the job now; null where none can. */
  #kindFor({ long, owner }: Waiting): ReaderKind | null {
    const { workers, longWorkers, reservedWorkers = 0 } = this.#options;
    const hasRunning = this.#readers.some(
      ({ kind, running }) => running?.owner === owner && (kind === 'long') === long,
    );
    if (long) return !hasRunning && this.#hasFree('long', longWorkers) ? 'long' : null;
    if (this.#hasFree('shared', workers)) return 'shared';
    return !hasRunning && this.#hasFree('reserved', reservedWorkers) ? 'reserved' : null;
  }

  #hasFree(kind: ReaderKind, most: number): boolean {
    const ofKind = this.#readers.filter((reader) => reader.kind === kind);
    return ofKind.length < most || ofKind.some(({ running }) => running === null);
  }

  #begin(reader: Reader, waiting: Waiting): void {
    if (reader.idle) clearTimeout(reader.idle);
    reader.idle = null;
    reader.running = waiting;
    waiting.startedAt = performance.now();
    const { id, job, long } = waiting;
    const maxMs = long ? null : (this.#options.shortMs ?? SHORT_MS);
    reader.worker.postMessage({ type: 'job', id, job, maxMs } satisfies ToReader);
  }

  #cancel(waiting: Waiting): void {
    this.#queue.remove(waiting.owner, waiting);
    for (const { running, cancelled } of this.#readers)
      if (running === waiting) Atomics.store(cancelled, 0, waiting.id);
    waiting.reject(givenUp());
  }

  /** Starts a thread for the job. Returns false where no thread can be started. */
  #startFor(waiting: Waiting, kind: ReaderKind): boolean {
    try {
      this.#begin(this.#start(kind), waiting);
      return true;
    } catch (error) {
      waiting.reject(
        error instanceof NoRoomForThread ? new ApiError('overloaded', 'too many connections are open') : error,
      );
      return false;
    }
  }

  #start(kind: ReaderKind): Reader {
    const { chainDir, sources, log } = this.#options;
    const worker = this.#options.startReader();
    const cancelled = new SharedArrayBuffer(4);
    const reader: Reader = { worker, kind, cancelled: new Int32Array(cancelled), running: null, idle: null };
    worker.onmessage = ({ data }: MessageEvent<FromReader>) => this.#finish(reader, data);
    worker.onerror = ({ message }) => {
      log.error('a reader worker failed', { message });
      this.#lose(reader);
    };
    worker.addEventListener('close', () => this.#lose(reader));
    const nice = NICE[kind];
    worker.postMessage({ type: 'open', chainDir, sources, cancelled, nice } satisfies ToReader);
    // An idle worker must not keep the program alive.
    worker.unref();
    this.#readers.push(reader);
    return reader;
  }

  #finish(reader: Reader, { id, result, error, tookTooLong }: FromReader): void {
    const waiting = reader.running;
    if (waiting?.id !== id) return;
    this.#free(reader, waiting);
    if (tookTooLong) {
      waiting.long = true;
      // The job was admitted already, so it returns to the queue even if that is full.
      if (!waiting.done) this.#queue.requeue(waiting.owner, waiting);
    } else if (result) waiting.resolve(result);
    else {
      if (error) this.#options.log.error('a request failed in a reader worker', { error });
      waiting.reject(new ApiError('internal_error'));
    }
    this.dispatch();
  }

  #free(reader: Reader, waiting: Waiting): void {
    reader.running = null;
    this.#queue.complete(waiting.owner, performance.now() - waiting.startedAt);
    if (reader.kind !== 'long') return;
    reader.idle = setTimeout(() => this.#retire(reader), IDLE_MS);
    reader.idle.unref();
  }

  #retire(reader: Reader): void {
    const at = this.#readers.indexOf(reader);
    if (at < 0 || reader.running) return;
    this.#readers.splice(at, 1);
    void closeThread(reader);
  }

  /** The next job starts a new thread in place of one that ended. */
  #lose(reader: Reader): void {
    const at = this.#readers.indexOf(reader);
    if (at < 0) return;
    this.#readers.splice(at, 1);
    const { running } = reader;
    if (running) this.#queue.complete(running.owner, performance.now() - running.startedAt);
    running?.reject(new ApiError('internal_error'));
    reader.worker.terminate();
    if (!this.#closed) this.dispatch();
  }
}

/** Resolves when a thread has closed its connection and ended. */
async function closeThread({ worker, idle }: Reader): Promise<void> {
  if (idle) clearTimeout(idle);
  const closed = new Promise<void>((resolve) => {
    worker.onmessage = ({ data }: MessageEvent<FromReader>) => {
      if (data.id === READER_CLOSED) resolve();
    };
  });
  worker.postMessage({ type: 'close' } satisfies ToReader);
  // A thread that is terminated during a read leaves its connection open.
  await Promise.race([closed, Bun.sleep(CLOSE_MS)]);
  worker.terminate();
}

/** The time limit has passed, or the client has disconnected and receives no reply. */
function givenUp(): ApiError {
  return new ApiError('overloaded', 'the request timed out');
}

function tooMany(): ApiError {
  return new ApiError('rate_limited', 'too many long requests of this key are waiting', {
    scope: 'reads',
    retryAfter: 1,
  });
}
