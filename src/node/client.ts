import type { Config } from '../config/settings.ts';
import { ApiError } from '../http/errors.ts';
import type { CallArgs, CallResult, NodeCallName } from '../port/node-calls.ts';
import type { NodeCounters, NodePort, NodeStatus, NodeUpdate, PeerChange } from '../port/node-port.ts';
import { OperatorError } from '../util/operator-error.ts';
import { Outbox } from '../util/outbox.ts';
import { startWorker } from '../util/worker.ts';
import type { FromNode, ToNode } from './node-messages.ts';

interface PendingCall {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  /** Size of the arguments of the call. */
  readonly bytes: number;
}

/** Limits on unanswered calls and on their bytes; calls beyond them fail as overloaded. */
const PENDING_LIMIT = 10_000;
const PENDING_BYTES = 64 * 1024 ** 2;

/** The node thread as the main thread uses it: commands are sent to it; answers, status and commits come back. */
export class NodeClient implements NodePort {
  readonly #worker: Worker;
  readonly #outbox = new Outbox<ToNode>((messages) => this.#worker.postMessage(messages));
  readonly #pending = new Map<number, PendingCall>();
  readonly #updateListeners = new Set<(update: NodeUpdate) => void>();
  readonly #peerListeners = new Set<(change: PeerChange) => void>();
  /** Updates that arrived before the first observer. */
  #earlyUpdates: NodeUpdate[] | null = [];
  readonly #opened = Promise.withResolvers<void>();
  readonly #closed = Promise.withResolvers<void>();
  readonly #failed = Promise.withResolvers<never>();
  #status: NodeStatus | null = null;
  #counters: NodeCounters | null = null;
  #pendingBytes = 0;
  #nextId = 1;
  #error: Error | null = null;
  #closing = false;
  readonly #stopping = new Int32Array(new SharedArrayBuffer(4));

  /** Starts the thread, and opens the chain on it. */
  constructor(config: Config) {
    // A caller that awaits these promises gets the error; with no caller they must not count as unhandled rejections.
    this.#failed.promise.catch(() => {});
    this.#opened.promise.catch(() => {});
    this.#worker = startWorker(new URL('./node-worker.ts', import.meta.url), 'node');
    this.#worker.onmessage = ({ data }: MessageEvent<readonly FromNode[]>) => {
      for (const message of data) this.#receive(message);
    };
    this.#worker.onerror = ({ message }) => this.#fail(new Error(`the node thread failed: ${message}`));
    // A thread that has ended sends no answer, so all waiting calls are rejected.
    this.#worker.addEventListener('close', () => {
      this.#fail(new Error('the node thread has ended'));
      this.#closed.resolve();
    });
    this.#send({ type: 'open', config, stopping: this.#stopping });
  }

  /** Resolves when the chain is open; rejects with an OperatorError if it cannot be opened. */
  opened(): Promise<void> {
    return this.#opened.promise;
  }

  /** Interrupts a long conversion within the opening, which then fails; does nothing to any other step. */
  interruptOpening(): void {
    Atomics.store(this.#stopping, 0, 1);
  }

  /** Rejects when a part of the node fails permanently; never resolves. */
  failed(): Promise<never> {
    return this.#failed.promise;
  }

  status(): NodeStatus {
    if (!this.#status) throw new Error('the node is not open');
    return this.#status;
  }

  counters(): NodeCounters | null {
    return this.#counters;
  }

  call<N extends NodeCallName>(name: N, ...args: CallArgs<N>): Promise<CallResult<N>> {
    if (this.#closing) return Promise.reject(stopping());
    if (this.#error) return Promise.reject(this.#error);
    const bytes = bytesIn(args);
    if (this.#pending.size >= PENDING_LIMIT || this.#pendingBytes + bytes > PENDING_BYTES)
      return Promise.reject(new ApiError('overloaded', 'too many commands are waiting'));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve: resolve as PendingCall['resolve'], reject, bytes });
      this.#pendingBytes += bytes;
      this.#send({ type: 'call', id, name, args });
    });
  }

  async callUntil<N extends NodeCallName>(signal: AbortSignal, name: N, ...args: CallArgs<N>): Promise<CallResult<N>> {
    signal.throwIfAborted();
    const id = this.#nextId;
    const cancel = () => this.#send({ type: 'cancel', id });
    const result = this.call(name, ...args);
    signal.addEventListener('abort', cancel, { once: true });
    try {
      return await result;
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  onUpdate(listener: (update: NodeUpdate) => void): () => void {
    this.#updateListeners.add(listener);
    const early = this.#earlyUpdates ?? [];
    this.#earlyUpdates = null;
    for (const update of early) listener(update);
    return () => this.#updateListeners.delete(listener);
  }

  acknowledge(bytes: number, updates: number): void {
    this.#send({ type: 'acknowledge', bytes, updates });
  }

  onPeerChange(listener: (change: PeerChange) => void): () => void {
    this.#peerListeners.add(listener);
    return () => this.#peerListeners.delete(listener);
  }

  /** Lets the thread finish its block, commit and close, then ends it. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#send({ type: 'close' });
    await this.#closed.promise;
    this.#worker.terminate();
  }

  #send(message: ToNode): void {
    this.#outbox.collect();
    this.#outbox.send(message);
  }

  #receive(message: FromNode): void {
    switch (message.type) {
      case 'opened':
        this.#status = message.status;
        this.#opened.resolve();
        return;
      case 'status':
        this.#status = message.status;
        this.#counters = message.counters;
        return;
      case 'peer':
        for (const listener of this.#peerListeners) listener(message.change);
        return;
      case 'update':
        if (message.status) this.#status = message.status;
        this.#earlyUpdates?.push(message.update);
        for (const listener of this.#updateListeners) listener(message.update);
        return;
      case 'reply': {
        const pending = this.#pending.get(message.id);
        this.#pending.delete(message.id);
        this.#pendingBytes -= pending?.bytes ?? 0;
        if (message.error === undefined) pending?.resolve(message.result);
        else pending?.reject(this.#closing ? stopping() : new Error(message.error));
        return;
      }
      case 'failed':
        this.#fail(message.operator ? new OperatorError(message.message) : new Error(message.message));
        return;
      case 'closed':
        this.#closed.resolve();
        return;
    }
  }

  #fail(error: Error): void {
    this.#error ??= error;
    this.#opened.reject(error);
    this.#failed.reject(error);
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}

function bytesIn(args: readonly unknown[]): number {
  let bytes = 0;
  for (const value of args.flat(2)) if (value instanceof Uint8Array) bytes += value.length;
  return bytes;
}

/** Returns the error of calls that the stop interrupts. */
function stopping(): ApiError {
  return new ApiError('shutting_down', 'the node is stopping');
}
