import type { ScriptChecks, ScriptFailure, ScriptVerifier } from '../../chain/script-verifier.ts';
import type { ParsedBlock } from '../../primitives/block.ts';
import { startWorker } from '../../util/worker.ts';
import { type ByteRange, READY, shareTransaction, VerifyBatchWriter } from './verify-batch.ts';
import type { SharedPart, VerifyReply, VerifyRequest } from './verify-worker.ts';

/** Inputs per batch. Smaller batches cost more messages, larger ones leave workers idle at the end of a block. */
const BATCH_INPUTS = 128;
const BATCH_BYTES = 1 << 20;

interface PoolWorker {
  readonly worker: Worker;
  /** Resolves to whether the worker has loaded its modules. */
  readonly loaded: PromiseWithResolvers<boolean>;
  /** Inputs that were sent and not answered. */
  load: number;
}

interface PendingBatch {
  readonly checks: BlockChecks;
  readonly worker: PoolWorker;
  readonly inputs: number;
}

export interface VerifyPoolDeps {
  /** Whether the scripts of a transaction are already known to be valid under these flags. */
  isKnownValid?(wtxid: Uint8Array, flags: number): boolean;
  /** Returns false while `isKnownValid` is false for all transactions; true if it is not given. */
  knowsAny?(): boolean;
  onError(error: Error): void;
}

/** A pool of verify workers, one per core. A batch goes to the worker with the lowest load. */
export class VerifyPool implements ScriptVerifier {
  readonly #count: number;
  readonly #deps: VerifyPoolDeps;
  readonly #pending = new Map<number, PendingBatch>();
  readonly #writer = new VerifyBatchWriter();
  #workers: readonly PoolWorker[] | null = null;
  #nextId = READY + 1;
  #broken: Error | null = null;

  constructor(count: number, deps: VerifyPoolDeps) {
    this.#count = count;
    this.#deps = deps;
  }

  /** Starts the workers unless they run. The first check starts them as well. */
  start(): void {
    this.#started();
  }

  begin(flags: number): ScriptChecks {
    return new BlockChecks(this, this.#writer, flags);
  }

  /** The wtxid begins at `at`. */
  isKnownValid(wtxids: Uint8Array, at: number, flags: number): boolean {
    const { isKnownValid } = this.#deps;
    if (isKnownValid === undefined || !(this.#deps.knowsAny?.() ?? true)) return false;
    return isKnownValid(wtxids.subarray(at, at + 32), flags);
  }

  /**
   * Ends the workers; pending checks are never answered. Resolves when all workers have ended or will end by
   * themselves: a thread that is terminated while it loads the native library aborts the whole process (SIGABRT).
   */
  async close(): Promise<void> {
    this.#broken ??= new Error('the verify workers have been closed');
    this.#pending.clear();
    const workers = this.#workers ?? [];
    this.#workers = [];
    await Promise.all(
      workers.map(async ({ worker, loaded }) => {
        if (await loaded.promise) worker.terminate();
      }),
    );
  }

  /** Sends one batch of a block. */
  sendBatch(checks: BlockChecks, batch: Uint8Array<ArrayBuffer>, inputs: number): void {
    this.#send(checks, inputs, (worker, id) =>
      worker.postMessage({ id, batch } satisfies VerifyRequest, [batch.buffer]),
    );
  }

  /** Sends some inputs of a large transaction. */
  sendPart(checks: BlockChecks, part: SharedPart): void {
    this.#send(checks, part.to - part.from, (worker, id) => worker.postMessage({ id, part } satisfies VerifyRequest));
  }

  #send(checks: BlockChecks, inputs: number, post: (worker: Worker, id: number) => void): void {
    if (this.#broken) {
      checks.failed(this.#broken);
      return;
    }
    const workers = this.#started();
    let target = workers[0]!;
    for (const candidate of workers) if (candidate.load < target.load) target = candidate;
    const id = this.#nextId++;
    this.#pending.set(id, { checks, worker: target, inputs });
    target.load += inputs;
    post(target.worker, id);
  }

  /** The worker's pending checks are lost, so the blocks they belong to cannot be validated. */
  #break(error: Error): void {
    this.#broken ??= error;
    for (const { checks } of this.#pending.values()) checks.failed(this.#broken);
    this.#pending.clear();
  }

  #started(): readonly PoolWorker[] {
    this.#workers ??= Array.from({ length: this.#count }, () => {
      const worker = startWorker(new URL('./verify-worker.ts', import.meta.url), 'verify');
      const loaded = Promise.withResolvers<boolean>();
      worker.onmessage = ({ data }: MessageEvent<VerifyReply>) => {
        if (data.id === READY) loaded.resolve(true);
        else this.#reply(data);
      };
      worker.onerror = ({ message }) => {
        loaded.resolve(false);
        this.#break(new Error(`a verify worker failed: ${message}`));
        this.#deps.onError(this.#broken!);
      };
      worker.addEventListener('close', () => loaded.resolve(false));
      return { worker, loaded, load: 0 };
    });
    return this.#workers;
  }

  #reply({ id, failure }: VerifyReply): void {
    const pending = this.#pending.get(id);
    if (!pending) return;
    this.#pending.delete(id);
    pending.worker.load -= pending.inputs;
    pending.checks.answered(failure);
  }
}

/** Key of the next shared transaction. */
let nextKey = 1;

class BlockChecks implements ScriptChecks {
  readonly #pool: VerifyPool;
  readonly #writer: VerifyBatchWriter;
  readonly #flags: number;
  #sent = 0;
  #answered = 0;
  #failure: ScriptFailure | null = null;
  #error: Error | null = null;
  #settled: PromiseWithResolvers<ScriptFailure | null> | null = null;

  constructor(pool: VerifyPool, writer: VerifyBatchWriter, flags: number) {
    this.#pool = pool;
    this.#writer = writer;
    this.#flags = flags;
    writer.begin(flags);
  }

  add({ raw, columns, wtxids }: ParsedBlock, i: number, spent: Uint8Array, from: number, to: number): void {
    const tx = i - 1;
    if (this.#pool.isKnownValid(wtxids, i * 32, this.#flags)) return;
    const { txAt, firstInput } = columns;
    const inputs = firstInput[i + 1]! - firstInput[i]!;
    this.#add(tx, inputs, { bytes: raw, from: txAt[i]!, to: txAt[i + 1]! }, { bytes: spent, from, to });
  }

  addTransaction(tx: number, raw: Uint8Array, spent: Uint8Array, inputs: number): void {
    this.#add(tx, inputs, { bytes: raw, from: 0, to: raw.length }, { bytes: spent, from: 0, to: spent.length });
  }

  #add(tx: number, inputs: number, raw: ByteRange, spent: ByteRange): void {
    if (inputs > BATCH_INPUTS)
      this.#share(tx, raw.bytes.subarray(raw.from, raw.to), spent.bytes.subarray(spent.from, spent.to), inputs);
    else {
      this.#writer.add(tx, inputs, raw, spent);
      if (this.#writer.inputs >= BATCH_INPUTS || this.#writer.bytes >= BATCH_BYTES) this.#flush();
    }
  }

  /** Distributes the inputs of one transaction over the workers. */
  #share(tx: number, raw: Uint8Array, spent: Uint8Array, inputs: number): void {
    const shared = shareTransaction(raw, spent);
    const key = nextKey++;
    for (let from = 0; from < inputs; from += BATCH_INPUTS) {
      const to = Math.min(inputs, from + BATCH_INPUTS);
      this.#sent++;
      this.#pool.sendPart(this, { flags: this.#flags, tx, from, to, key, shared });
    }
  }

  finish(): Promise<ScriptFailure | null> {
    if (this.#writer.inputs > 0) this.#flush();
    this.#settled = Promise.withResolvers();
    this.#settle();
    return this.#settled.promise;
  }

  cancel(): void {
    this.#writer.begin(this.#flags);
  }

  answered(failure: ScriptFailure | null): void {
    this.#answered++;
    if (failure && (!this.#failure || comesBefore(failure, this.#failure))) this.#failure = failure;
    this.#settle();
  }

  failed(error: Error): void {
    this.#error = error;
    this.#settle();
  }

  #flush(): void {
    this.#sent++;
    this.#pool.sendBatch(this, this.#writer.finish(), this.#writer.inputs);
    this.#writer.begin(this.#flags);
  }

  #settle(): void {
    if (this.#error) this.#settled?.reject(this.#error);
    else if (this.#answered === this.#sent) this.#settled?.resolve(this.#failure);
  }
}

/** Whether a check in block order would have met the first failure before the second. */
function comesBefore(a: ScriptFailure, b: ScriptFailure): boolean {
  return a.tx < b.tx || (a.tx === b.tx && a.input < b.input);
}
