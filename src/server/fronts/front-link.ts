import type { MessagePort } from 'node:worker_threads';
import { ApiError, type ErrorDetails, type FailureCode } from '../../http/errors.ts';

/** Calls by name, as they cross between two fronts. */
export type FrontCallTable = {
  readonly [name: string]: { readonly args: readonly unknown[]; readonly result: unknown };
};

/** The functions that answer the calls. The signal aborts when the caller has given up. */
export type Handlers<T extends FrontCallTable> = {
  readonly [N in keyof T]: (
    signal: AbortSignal,
    ...args: T[N]['args'] extends infer A extends readonly unknown[] ? [...A] : never
  ) => T[N]['result'] | Promise<T[N]['result']>;
};

interface Fault {
  readonly message: string;
  /** The members of an ApiError; null for another error. */
  readonly api: { readonly failure: FailureCode; readonly details: ErrorDetails | null } | null;
}

type Message =
  | { readonly kind: 'call'; readonly id: number; readonly name: string; readonly args: readonly unknown[] }
  | { readonly kind: 'cancel'; readonly id: number }
  | { readonly kind: 'result'; readonly id: number; readonly result: unknown }
  | { readonly kind: 'fault'; readonly id: number; readonly fault: Fault };

/** Unanswered calls; further ones fail as overloaded. Requests that wait are bounded long before. */
const MAX_PENDING = 20_000;

/** Calls in both directions between the first front and another one. `Out` are those that this end makes. */
export class FrontLink<In extends FrontCallTable, Out extends FrontCallTable> {
  readonly #port: MessagePort;
  readonly #handlers: Handlers<In>;
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #running = new Map<number, AbortController>();
  #lastId = 0;
  #closed = false;

  constructor(port: MessagePort, handlers: Handlers<In>) {
    this.#port = port;
    this.#handlers = handlers;
    port.on('message', (message: Message) => this.#receive(message));
  }

  /** Makes a call. Rejects with the ApiError of the other end. The other end is notified when the signal aborts. */
  async call<N extends keyof Out & string>(
    name: N,
    args: Out[N]['args'],
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<Out[N]['result']> {
    if (this.#closed) throw new ApiError('shutting_down', 'the node is stopping');
    if (this.#pending.size >= MAX_PENDING) throw new ApiError('overloaded', 'too many calls are waiting');
    const id = ++this.#lastId;
    const answer = Promise.withResolvers<unknown>();
    // A call that cannot be posted waits for no reply.
    this.#post({ kind: 'call', id, name, args });
    this.#pending.set(id, answer);
    const cancel = () => this.#post({ kind: 'cancel', id });
    if (signal?.aborted) cancel();
    else signal?.addEventListener('abort', cancel, { once: true });
    try {
      return (await answer.promise) as Out[N]['result'];
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  /** Rejects all calls, now and later. */
  close(): void {
    this.#closed = true;
    for (const { reject } of this.#pending.values()) reject(new ApiError('shutting_down', 'the node is stopping'));
    this.#pending.clear();
    this.#port.close();
  }

  #receive(message: Message): void {
    const { kind, id } = message;
    if (kind === 'call') void this.#answer(message);
    else if (kind === 'cancel') this.#running.get(id)?.abort(new ApiError('overloaded', 'the caller has given up'));
    else {
      const answer = this.#pending.get(id);
      this.#pending.delete(id);
      if (kind === 'result') answer?.resolve(message.result);
      else answer?.reject(errorOf(message.fault));
    }
  }

  async #answer({ id, name, args }: Extract<Message, { kind: 'call' }>): Promise<void> {
    const abort = new AbortController();
    this.#running.set(id, abort);
    try {
      const handler = this.#handlers[name] as (signal: AbortSignal, ...args: readonly unknown[]) => unknown;
      const result = await handler(abort.signal, ...args);
      this.#post({ kind: 'result', id, result });
    } catch (error) {
      this.#post({ kind: 'fault', id, fault: faultOf(error) });
    } finally {
      this.#running.delete(id);
    }
  }

  #post(message: Message): void {
    if (!this.#closed) this.#port.postMessage(message);
  }
}

function faultOf(error: unknown): Fault {
  if (!(error instanceof ApiError))
    return { message: error instanceof Error ? error.message : String(error), api: null };
  return { message: error.message, api: { failure: error.failure, details: error.details } };
}

function errorOf({ message, api }: Fault): Error {
  return api ? new ApiError(api.failure, message, api.details) : new Error(message);
}
