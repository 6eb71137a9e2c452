import { ApiError } from '../http/errors.ts';
import type { Log } from '../util/log.ts';
import { NoRoomForThread, startWorker } from '../util/worker.ts';
import {
  type FromWatchWorker,
  type ToWatchWorker,
  WATCH_WORKER_CLOSED,
  type WatchWrite,
  type WatchWritten,
} from './watch-worker-messages.ts';

/** Time limit for the worker to close, milliseconds. */
const CLOSE_MS = 1000;

interface Waiting {
  resolve(written: WatchWritten): void;
  reject(error: unknown): void;
}

/**
 * Writes watches.db in a worker, since a commit waits for the disk and would block the main thread. The first change
 * starts the worker.
 */
export class WatchWriter {
  readonly #path: string;
  readonly #log: Log;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #lastId = WATCH_WORKER_CLOSED;
  #closed = false;

  constructor(path: string, log: Log) {
    this.#path = path;
    this.#log = log;
  }

  /** Resolves when the change is durable. Rejects with ApiError if that is unknown. */
  write(write: WatchWrite): Promise<WatchWritten> {
    if (this.#closed) return Promise.reject(new ApiError('shutting_down', 'the node is stopping'));
    const id = ++this.#lastId;
    let thread: Worker;
    try {
      thread = this.#thread();
    } catch (error) {
      return Promise.reject(
        error instanceof NoRoomForThread ? new ApiError('overloaded', 'too many connections') : error,
      );
    }
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      thread.postMessage({ type: 'write', id, write: JSON.stringify(write) } satisfies ToWatchWorker);
    });
  }

  /** Closes the worker after the submitted changes are written. */
  async close(): Promise<void> {
    this.#closed = true;
    const worker = this.#worker;
    if (!worker) return;
    const closed = new Promise<void>((resolve) => {
      worker.addEventListener('message', ({ data }: MessageEvent<FromWatchWorker>) => {
        if (data.id === WATCH_WORKER_CLOSED) resolve();
      });
    });
    worker.postMessage({ type: 'close' } satisfies ToWatchWorker);
    await Promise.race([closed, Bun.sleep(CLOSE_MS)]);
    this.#lose(worker);
  }

  #thread(): Worker {
    if (this.#worker) return this.#worker;
    const worker = startWorker(new URL('./watch-worker.ts', import.meta.url), 'watches');
    worker.addEventListener('message', ({ data }: MessageEvent<FromWatchWorker>) => this.#finish(data));
    worker.onerror = ({ message }) => {
      this.#log.error('the writer of watches.db failed', { message });
      this.#lose(worker);
    };
    worker.addEventListener('close', () => this.#lose(worker));
    worker.postMessage({ type: 'open', path: this.#path } satisfies ToWatchWorker);
    // An idle worker does not keep the program alive.
    worker.unref();
    this.#worker = worker;
    return worker;
  }

  #finish({ id, written, error }: FromWatchWorker): void {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    this.#waiting.delete(id);
    if (written) waiting.resolve(JSON.parse(written) as WatchWritten);
    else {
      this.#log.error('watches.db cannot be written', { error });
      waiting.reject(new ApiError('internal_error', 'the watches cannot be stored'));
    }
  }

  /** The next change replaces a worker that has ended. */
  #lose(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    worker.terminate();
    for (const waiting of this.#waiting.values()) waiting.reject(new ApiError('internal_error'));
    this.#waiting.clear();
  }
}
