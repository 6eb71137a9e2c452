import { ApiError } from '../http/errors.ts';
import type { Log } from '../util/log.ts';
import { NoRoomForThread, startWorker } from '../util/worker.ts';
import { WorkerPort } from '../util/worker-port.ts';
import type { WatchDatabase, WatchWrite, WatchWritten } from './watch-worker-messages.ts';

/** Time limit for the worker to close, milliseconds. */
const CLOSE_MS = 1000;

/**
 * Writes watches.db in a worker, since a commit waits for the disk and would block the main thread. The first change
 * starts the worker.
 */
export class WatchWriter {
  readonly #log: Log;
  readonly #port: WorkerPort<WatchDatabase, string, string>;
  #closed = false;

  constructor(path: string, log: Log) {
    this.#log = log;
    this.#port = new WorkerPort({
      start: () => startWorker(new URL('./watch-worker.ts', import.meta.url), 'watches'),
      options: { path },
      onFailure: (message) => log.error('the writer of watches.db failed', { message }),
    });
  }

  /** Resolves when the change is durable. Rejects with ApiError if that is unknown. */
  async write(write: WatchWrite): Promise<WatchWritten> {
    if (this.#closed) throw new ApiError('shutting_down', 'the node is stopping');
    const result = await this.#port.request(JSON.stringify(write)).catch((error: unknown) => {
      throw error instanceof NoRoomForThread ? new ApiError('overloaded', 'too many connections') : error;
    });
    if (result.ok) return JSON.parse(result.answer) as WatchWritten;
    if (result.ended) throw new ApiError('internal_error');
    this.#log.error('watches.db cannot be written', { error: result.error });
    throw new ApiError('internal_error', 'the watches cannot be stored');
  }

  /** Closes the worker after the submitted changes are written. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#port.close(CLOSE_MS);
  }
}
