import { addLockFailures, type LockFailures, unreportedLockFailures } from './lock-failures.ts';
import type { MaybePromise } from './maybe-promise.ts';
import { announceStart } from './worker.ts';

/** The messages to a worker: `open` comes first and once. */
type ToWorker<O, Q> =
  | { readonly type: 'open'; readonly options: O }
  | { readonly type: 'request'; readonly id: number; readonly request: Q }
  | { readonly type: 'close'; readonly id: number };

/** The reply to the message with that id. */
interface FromWorker<A> {
  readonly id: number;
  readonly answer?: A;
  /** The reason of a failure, for the log. */
  readonly error: string | null;
  /** Statements that failed at a lock since the reply before. */
  readonly lockFailures?: LockFailures;
}

/** The result of a request: an answer, or the reason why there is none. */
export type PortResult<A> =
  | { readonly ok: true; readonly answer: A }
  /** `ended`: the worker has ended, so it is not known whether the request was carried out. */
  | { readonly ok: false; readonly error: string; readonly ended: boolean };

interface PortOptions<O> {
  /** Starts a thread that calls `serveRequests`. Throws NoRoomForThread. */
  start(): Worker;
  /** Sent to each worker before its first request. */
  readonly options: O;
  /** Called when the worker fails outside of a request. */
  onFailure(message: string): void;
}

/**
 * Requests to one worker, which begins them in order. The first request starts the worker, and the next one replaces a
 * worker that has ended.
 */
export class WorkerPort<O, Q, A> {
  readonly #options: PortOptions<O>;
  readonly #waiting = new Map<number, (reply: PortResult<A>) => void>();
  #worker: Worker | null = null;
  #lastId = 0;

  constructor(options: PortOptions<O>) {
    this.#options = options;
  }

  /** Whether the worker runs. */
  get isRunning(): boolean {
    return this.#worker !== null;
  }

  /** Resolves when the worker has answered or has ended. Rejects with NoRoomForThread. */
  async request(request: Q): Promise<PortResult<A>> {
    return this.#send((id) => ({ type: 'request', id, request }));
  }

  /** Lets the worker close after the requests that were sent, within `ms` milliseconds, and ends it. */
  async close(ms: number): Promise<void> {
    const worker = this.#worker;
    if (!worker) return;
    await Promise.race([this.#send((id) => ({ type: 'close', id })), Bun.sleep(ms)]);
    this.#lose(worker);
  }

  #send(message: (id: number) => ToWorker<O, Q>): Promise<PortResult<A>> {
    const worker = this.#started();
    const id = ++this.#lastId;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      worker.postMessage(message(id));
    });
  }

  #started(): Worker {
    if (this.#worker) return this.#worker;
    const { start, options, onFailure } = this.#options;
    const worker = start();
    worker.addEventListener('message', ({ data }: MessageEvent<FromWorker<A>>) => this.#finish(data));
    worker.onerror = ({ message }) => {
      onFailure(message);
      this.#lose(worker);
    };
    worker.addEventListener('close', () => this.#lose(worker));
    worker.postMessage({ type: 'open', options } satisfies ToWorker<O, Q>);
    // An idle worker must not keep the program alive.
    worker.unref();
    this.#worker = worker;
    return worker;
  }

  #finish({ id, answer, error, lockFailures }: FromWorker<A>): void {
    if (lockFailures) addLockFailures(lockFailures);
    const resolve = this.#waiting.get(id);
    this.#waiting.delete(id);
    resolve?.(error === null ? { ok: true, answer: answer as A } : { ok: false, error, ended: false });
  }

  #lose(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    worker.terminate();
    for (const resolve of this.#waiting.values()) resolve({ ok: false, error: 'the thread ended', ended: true });
    this.#waiting.clear();
  }
}

/** The part of a worker that carries out requests. */
interface Served<O, Q, A> {
  open(options: O): void;
  /** Throws or rejects if the request cannot be carried out. Later requests do not wait for a promise. */
  answer(request: Q): MaybePromise<A>;
  close(): void;
}

declare const self: Worker;

/** Serves the requests of a WorkerPort. A worker calls it once, before everything else. */
export function serveRequests<O, Q, A>(served: Served<O, Q, A>): void {
  announceStart();
  self.onmessage = ({ data }: MessageEvent<ToWorker<O, Q>>) => {
    if (data.type === 'open') return served.open(data.options);
    const reply = replyTo(served, data);
    if (reply instanceof Promise) void reply.then(send);
    else send(reply);
  };
}

function send<A>(reply: FromWorker<A>): void {
  const lockFailures = unreportedLockFailures();
  self.postMessage(lockFailures === null ? reply : { ...reply, lockFailures });
}

function replyTo<O, Q, A>(
  served: Served<O, Q, A>,
  message: Exclude<ToWorker<O, Q>, { type: 'open' }>,
): MaybePromise<FromWorker<A | null>> {
  const { id } = message;
  const failed = (error: unknown) => ({ id, error: error instanceof Error ? error.message : String(error) });
  try {
    if (message.type === 'request') {
      const answer = served.answer(message.request);
      if (answer instanceof Promise) return answer.then((ready) => ({ id, answer: ready, error: null }), failed);
      return { id, answer, error: null };
    }
    served.close();
    return { id, answer: null, error: null };
  } catch (error) {
    return failed(error);
  }
}
