import type { MessagePort } from 'node:worker_threads';
import type { Config } from '../config/settings.ts';
import { ApiError } from '../http/errors.ts';
import type { EntryColumns } from '../mempool/entry-columns.ts';
import type { CallArgs, CallResult, NodeCallName } from '../port/node-calls.ts';
import type { NodeCounters, NodePort, NodeStatus, NodeUpdate, PeerChange } from '../port/node-port.ts';
import type { PortFence } from '../port/port-fence.ts';
import { setMockTime } from '../util/clock.ts';
import { setLogLevels } from '../util/log.ts';
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

/** A port to the node thread: of the thread itself, or one that was passed to a front. */
interface NodeMessages {
  postMessage(messages: readonly ToNode[], transfer: ArrayBuffer[]): void;
}

/** The node thread as a front uses it: commands are sent to it; answers, status and commits come back. */
export class NodeLink implements NodePort {
  readonly #outbox: Outbox<ToNode>;
  readonly #fence: PortFence | null;
  readonly #pending = new Map<number, PendingCall>();
  readonly #updateListeners = new Set<(update: NodeUpdate) => void>();
  readonly #peerListeners = new Set<(change: PeerChange) => void>();
  /** Updates that arrived before the first observer. */
  #earlyUpdates: NodeUpdate[] | null = [];
  #status: NodeStatus | null = null;
  #counters: NodeCounters | null = null;
  #pendingBytes = 0;
  #nextId = 1;
  #error: Error | null = null;
  #closing = false;
  #lastPush = 0;
  #onPush: (() => void) | null = null;

  /** `fence` is null with one front. */
  constructor(port: NodeMessages, fence: PortFence | null) {
    this.#outbox = new Outbox<ToNode>(
      (messages, transfer) => port.postMessage(messages, transfer),
      (message, error) => {
        if (message.type !== 'call') throw error;
        this.#finishCall({ type: 'reply', id: message.id, error: `the call cannot be sent: ${error}` });
      },
    );
    this.#fence = fence;
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
      this.send({ type: 'call', id, name, args });
    });
  }

  async callUntil<N extends NodeCallName>(signal: AbortSignal, name: N, ...args: CallArgs<N>): Promise<CallResult<N>> {
    signal.throwIfAborted();
    const id = this.#nextId;
    const cancel = () => this.send({ type: 'cancel', id });
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
    this.send({ type: 'acknowledge', bytes, updates });
  }

  onPeerChange(listener: (change: PeerChange) => void): () => void {
    this.#peerListeners.add(listener);
    return () => this.#peerListeners.delete(listener);
  }

  /** From now on, announces the pushes that this front has applied. `applied` resolves when it has applied all. */
  publishTo(fence: PortFence, applied: () => Promise<void>): void {
    let isWaiting = false;
    this.#onPush = () => {
      if (isWaiting) return;
      isWaiting = true;
      void applied().then(() => {
        isWaiting = false;
        fence.publish(this.#lastPush);
      });
    };
    this.#onPush();
  }

  /** Refuses further calls, and reports the errors of running ones as a stop. */
  stopCalls(): void {
    this.#closing = true;
  }

  /** Rejects all calls. */
  failCalls(error: Error): void {
    this.#error ??= error;
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }

  /** Processes a message of the node thread. */
  receive(message: LinkMessage): void {
    switch (message.type) {
      case 'opened':
        this.#status = message.status;
        return;
      case 'status':
        this.#status = message.status;
        this.#counters = message.counters;
        break;
      case 'peer':
        for (const listener of this.#peerListeners) listener(message.change);
        break;
      case 'mockTime':
        setMockTime(message.seconds);
        break;
      case 'logLevels':
        setLogLevels(message.levels, message.areConfigured);
        break;
      case 'update':
        if (message.status) this.#status = message.status;
        this.#earlyUpdates?.push(message.update);
        for (const listener of this.#updateListeners) listener(message.update);
        break;
      case 'reply':
        this.#finishCall(message);
        return;
    }
    this.#lastPush = message.push;
    this.#onPush?.();
  }

  protected send(message: ToNode, transfer: readonly MessagePort[] = []): void {
    this.#outbox.collect();
    this.#outbox.send(message, transfer as unknown as readonly ArrayBuffer[]);
  }

  #finishCall({ id, result, error, push }: Extract<FromNode, { type: 'reply' }>): void {
    const pending = this.#pending.get(id);
    if (!pending) return;
    this.#pending.delete(id);
    this.#pendingBytes -= pending.bytes;
    if (error !== undefined) pending.reject(this.#closing ? stopping() : new Error(error));
    else if (push === undefined || !this.#fence) pending.resolve(result);
    else void this.#fence.reached(push).then(() => pending.resolve(result));
  }
}

/** The messages that concern one front. */
type LinkMessage = Exclude<FromNode, { type: 'failed' | 'closed' | 'stopHeight' }>;

/** The parts that the node thread needs to open. */
interface Opening {
  readonly config: Config;
  /** The columns of the mempool, which the fronts have as well. */
  readonly columns: EntryColumns;
  /** The ports of the further fronts. */
  readonly ports?: readonly MessagePort[];
}

/** The node thread, as the main thread starts and ends it. */
export class NodeClient extends NodeLink {
  readonly #worker: Worker;
  readonly #opening: Opening;
  readonly #opened = Promise.withResolvers<void>();
  readonly #closed = Promise.withResolvers<void>();
  readonly #stopHeight = Promise.withResolvers<void>();
  readonly #failed = Promise.withResolvers<never>();
  readonly #stopping = new Int32Array(new SharedArrayBuffer(4));
  #isClosing = false;
  /** The error with which the thread has failed to close; null without one. */
  closeError: Error | null = null;

  /** Starts the thread, which loads its code; `open` opens the chain. */
  constructor(opening: Opening, fence: PortFence | null = null) {
    const worker = startWorker(new URL('./node-worker.ts', import.meta.url), 'node');
    super({ postMessage: (messages, transfer) => worker.postMessage(messages, transfer) }, fence);
    this.#worker = worker;
    this.#opening = opening;
    // A caller that awaits these promises gets the error; with no caller they must not count as unhandled rejections.
    this.#failed.promise.catch(() => {});
    this.#opened.promise.catch(() => {});
    worker.onmessage = ({ data }: MessageEvent<readonly FromNode[]>) => {
      for (const message of data) this.#receive(message);
    };
    worker.onerror = ({ message }) => this.#fail(new Error(`the node thread failed: ${message}`));
    // A thread that has ended sends no answer, so all waiting calls are rejected.
    worker.addEventListener('close', () => {
      this.#fail(new Error('the node thread has ended'));
      this.#closed.resolve();
    });
  }

  /** Opens the chain on the thread. Call it once. */
  open(): void {
    const { config, columns, ports = [] } = this.#opening;
    this.send({ type: 'open', config, columns, stopping: this.#stopping, fronts: ports }, ports);
  }

  /** Resolves when the chain is open; rejects with an OperatorError if it cannot be opened. */
  opened(): Promise<void> {
    return this.#opened.promise;
  }

  /** Interrupts a long conversion within the opening, which then fails; does nothing to any other step. */
  interruptOpening(): void {
    Atomics.store(this.#stopping, 0, 1);
  }

  /** Resolves when the chain has the height at which the program is to stop. */
  stopHeightReached(): Promise<void> {
    return this.#stopHeight.promise;
  }

  /** Rejects when a part of the node fails permanently; never resolves. */
  failed(): Promise<never> {
    return this.#failed.promise;
  }

  /** Lets the thread finish its block, commit and close, then ends it. */
  async close(): Promise<void> {
    this.stopCalls();
    this.#isClosing = true;
    this.send({ type: 'close' });
    await this.#closed.promise;
    this.#worker.terminate();
  }

  #receive(message: FromNode): void {
    if (message.type === 'failed') {
      const error = message.operator ? new OperatorError(message.message, message) : new Error(message.message);
      if (this.#isClosing) this.closeError ??= error;
      this.#fail(error);
    } else if (message.type === 'closed') this.#closed.resolve();
    else if (message.type === 'stopHeight') this.#stopHeight.resolve();
    else {
      this.receive(message);
      if (message.type === 'opened') this.#opened.resolve();
    }
  }

  #fail(error: Error): void {
    this.#opened.reject(error);
    this.#failed.reject(error);
    this.failCalls(error);
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
