import type { Config } from '../config/schema.ts';
import { ApiError } from '../http/errors.ts';
import type { Estimate, EstimateRequest, RawEstimate } from '../mempool/fees/fee-estimator.ts';
import type { MinedBlock } from '../mempool/fees/mempool-policy.ts';
import type { PackageResult } from '../mempool/result.ts';
import type { BroadcastLimits, BroadcastResult, Prioritised } from '../mempool/service.ts';
import type { ActionArgs, ActionResult, NodeAction } from '../port/node-actions.ts';
import type { NodeCounters, NodeNews, NodePort, NodeStatus, PeerChange } from '../port/node-port.ts';
import { OperatorError } from '../util/operator-error.ts';
import { startWorker } from '../util/worker.ts';
import type { FromNode, NodeCommand, NodeCommands, ToNode } from './protocol.ts';

interface PendingCall {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  /** What its arguments hold. */
  readonly bytes: number;
}

/** Calls that may wait for an answer, and bytes that they may hold; who brings more is told that the node is overloaded. */
const PENDING_LIMIT = 10_000;
const PENDING_BYTES = 64 * 1024 ** 2;

/** The node thread as the front sees it: commands go over, answers, status and commits come back. */
export class NodeClient implements NodePort {
  readonly #worker: Worker;
  readonly #pending = new Map<number, PendingCall>();
  readonly #newsListeners = new Set<(news: NodeNews) => void>();
  readonly #peerListeners = new Set<(change: PeerChange) => void>();
  /** What came before anybody listened. */
  #earlyNews: NodeNews[] | null = [];
  readonly #opened = Promise.withResolvers<void>();
  readonly #closed = Promise.withResolvers<void>();
  readonly #failed = Promise.withResolvers<never>();
  #status: NodeStatus | null = null;
  #counters: NodeCounters | null = null;
  #pendingBytes = 0;
  #nextId = 1;
  #error: Error | null = null;
  #closing = false;

  /** Starts the thread, and opens the chain on it. */
  constructor(config: Config) {
    // Whoever waits hears of it; nobody has to.
    this.#failed.promise.catch(() => {});
    this.#opened.promise.catch(() => {});
    this.#worker = startWorker(new URL('./node-worker.ts', import.meta.url), 'node');
    this.#worker.onmessage = ({ data }: MessageEvent<FromNode>) => this.#receive(data);
    this.#worker.onerror = ({ message }) => this.#fail(new Error(`the node thread failed: ${message}`));
    // A thread that has ended can say nothing more, and nobody must wait for it.
    this.#worker.addEventListener('close', () => {
      this.#fail(new Error('the node thread has ended'));
      this.#closed.resolve();
    });
    this.#send({ type: 'open', config });
  }

  /** Resolves when the chain is open; rejects with an OperatorError where it cannot be. */
  opened(): Promise<void> {
    return this.#opened.promise;
  }

  /** Rejects when a part of the node fails for good; never resolves. */
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

  async echo(): Promise<void> {
    await this.#call('echo');
  }

  peers(): Promise<NodeCommands['peers']['result']> {
    return this.#call('peers');
  }

  submitBlock(raw: Uint8Array): Promise<string | null> {
    return this.#call('submitBlock', raw);
  }

  broadcast(raw: Uint8Array, limits: BroadcastLimits): Promise<BroadcastResult> {
    return this.#call('broadcast', raw, limits);
  }

  testTransactions(raws: readonly Uint8Array[]): Promise<PackageResult> {
    return this.#call('testTransactions', raws);
  }

  submitPackage(raws: readonly Uint8Array[], limits: BroadcastLimits): Promise<PackageResult> {
    return this.#call('submitPackage', raws, limits);
  }

  prioritise(txid: Uint8Array, delta: number): Promise<boolean> {
    return this.#call('prioritise', txid, delta);
  }

  prioritised(): Promise<readonly Prioritised[]> {
    return this.#call('prioritised');
  }

  saveMempool(): Promise<string> {
    return this.#call('saveMempool');
  }

  estimateFee(question: EstimateRequest): Promise<Estimate> {
    return this.#call('estimateFee', question);
  }

  estimateRawFee(target: number, threshold: number): Promise<readonly RawEstimate[]> {
    return this.#call('estimateRawFee', target, threshold);
  }

  mempoolCoverage(): Promise<readonly MinedBlock[]> {
    return this.#call('mempoolCoverage');
  }

  act<N extends NodeAction>(name: N, ...args: ActionArgs<N>): Promise<ActionResult<N>> {
    return this.#call('act', name, args) as Promise<ActionResult<N>>;
  }

  async actUntil<N extends NodeAction>(signal: AbortSignal, name: N, ...args: ActionArgs<N>): Promise<ActionResult<N>> {
    signal.throwIfAborted();
    const id = this.#nextId;
    const cancel = () => this.#send({ type: 'cancel', id });
    const call = this.#call('act', name, args) as Promise<ActionResult<N>>;
    signal.addEventListener('abort', cancel, { once: true });
    try {
      return await call;
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  onNews(listener: (news: NodeNews) => void): () => void {
    this.#newsListeners.add(listener);
    const early = this.#earlyNews ?? [];
    this.#earlyNews = null;
    for (const news of early) listener(news);
    return () => this.#newsListeners.delete(listener);
  }

  tookIn(bytes: number): void {
    this.#send({ type: 'tookIn', bytes });
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

  #call<N extends NodeCommand>(name: N, ...args: NodeCommands[N]['args']): Promise<NodeCommands[N]['result']> {
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

  #send(message: ToNode): void {
    this.#worker.postMessage(message);
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
      case 'news':
        if (message.status) this.#status = message.status;
        this.#earlyNews?.push(message.news);
        for (const listener of this.#newsListeners) listener(message.news);
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

/** What those are told whose calls the stop cuts short. */
function stopping(): ApiError {
  return new ApiError('shutting_down', 'the node is stopping');
}
