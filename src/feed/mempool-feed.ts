import { ApiError } from '../http/errors.ts';
import { changeBytes, type MempoolChange, type SentChange } from '../mempool/changes.ts';
import type { EntryColumns } from '../mempool/entry-columns.ts';
import { MempoolMirror, type TxSource } from '../mempool/mirror.ts';
import type { NodeUpdate } from '../port/node-port.ts';
import type { Clock } from '../util/clock.ts';

/** A removed transaction, and the number of the event that announced it. */
export interface GoneTransaction extends TxSource {
  readonly addedSeq: number;
}

/** A change applied to the mirror. `gone` holds the bytes of a removed transaction, which the mirror no longer has. */
export type SeenChange =
  | Exclude<MempoolChange, { kind: 'removed' }>
  | (Extract<MempoolChange, { kind: 'removed' }> & { readonly gone?: GoneTransaction | null });

/** Time limit of one slice of applying node updates, milliseconds. */
const SLICE_MS = 1;
/** Changes between two checks of the clock. */
const STEP = 8;

export interface MempoolFeedOptions {
  readonly clock: Clock;
  /** The columns of the mempool, if they are known before the first update. */
  readonly columns?: EntryColumns;
  /** Called after the mirror has applied these changes. */
  onChanges(changes: readonly SeenChange[]): void;
  /** Called when everything up to and including the commit can be read. */
  onCommit(commit: NonNullable<NodeUpdate['commit']>): void;
  /** Called with the bytes of applied changes since the last call, as `changeBytes` counts, and the completed updates. */
  onApplied(bytes: number, updates: number): void;
}

const LONGEST_WAIT_MS = 1000;
/** Bytes after which the node gets an acknowledgement: a small part of the limit of unacknowledged bytes. */
const ACKNOWLEDGE_BYTES = 1 << 18;

/**
 * Applies node updates to the mirror of the mempool in slices, and passes them on in the same order. While the changes of
 * a block are applied, the mirror still names the previous block.
 */
export class MempoolFeed {
  readonly mirror: MempoolMirror;
  readonly #options: MempoolFeedOptions;
  readonly #updates: NodeUpdate[] = [];
  /** Number of applied changes of the first update. */
  #applied = 0;
  /** Applied bytes that are not acknowledged yet. */
  #unacknowledged = 0;
  #completed = 0;
  #running = false;
  #moved = Promise.withResolvers<void>();
  /** Resolves when all received updates are applied; null while no caller waits for it. */
  #idle: PromiseWithResolvers<void> | null = null;

  constructor(options: MempoolFeedOptions) {
    this.#options = options;
    this.mirror = new MempoolMirror(options.clock, options.columns);
  }

  /** Sets the hash of the tip before the first update. */
  startAt(tip: string): void {
    this.mirror.tip = tip;
  }

  enqueue(update: NodeUpdate): void {
    this.#updates.push(update);
    if (!this.#running) this.#run();
  }

  /** Resolves when the tip of the mirror changes, or after a time limit. Rejects when the signal aborts. */
  async moved(signal: AbortSignal): Promise<void> {
    const late = AbortSignal.timeout(LONGEST_WAIT_MS);
    const ended = Promise.withResolvers<void>();
    const any = AbortSignal.any([signal, late]);
    any.addEventListener('abort', () => ended.resolve(), { once: true });
    if (!any.aborted) await Promise.race([this.#moved.promise, ended.promise]);
    if (signal.aborted) throw new ApiError('overloaded', 'the request timed out');
  }

  /** Resolves when all received updates are applied. */
  async drained(): Promise<void> {
    while (this.#running) {
      this.#idle ??= Promise.withResolvers();
      await this.#idle.promise;
    }
  }

  #run(): void {
    this.#running = true;
    const until = performance.now() + SLICE_MS;
    while (this.#updates.length > 0) {
      const { changes, commit, shared } = this.#updates[0]!;
      if (shared && this.#applied === 0) this.mirror.share(shared);
      while (this.#applied < changes.length) {
        const slice = changes.slice(this.#applied, this.#applied + STEP).map((change) => this.#applyChange(change));
        this.#applied += slice.length;
        this.#options.onChanges(slice);
        if (performance.now() < until) continue;
        if (this.#unacknowledged >= ACKNOWLEDGE_BYTES) this.#acknowledge();
        setImmediate(() => this.#run());
        return;
      }
      this.#updates.shift();
      this.#applied = 0;
      this.#completed++;
      if (!commit) continue;
      this.mirror.tip = commit.tip.hash;
      this.#options.onCommit(commit);
      this.#moved.resolve();
      this.#moved = Promise.withResolvers();
    }
    this.#running = false;
    this.#idle?.resolve();
    this.#idle = null;
    this.#acknowledge();
  }

  #acknowledge(): void {
    this.#options.onApplied(this.#unacknowledged, this.#completed);
    this.#unacknowledged = 0;
    this.#completed = 0;
  }

  #applyChange(change: SentChange): SeenChange {
    const gone = change.kind === 'removed' ? this.#sourceOf(change.txid) : null;
    this.mirror.apply(change);
    this.#unacknowledged += changeBytes(change);
    if (change.kind === 'removed') return { ...change, gone };
    if (change.kind !== 'row') return change;
    return { ...change, kind: 'added', ...this.mirror.sourceAt(change.slot) };
  }

  #sourceOf(txid: Uint8Array): GoneTransaction | null {
    const { mirror } = this;
    const slot = mirror.entries.find(txid);
    return slot < 0 ? null : { ...mirror.sourceAt(slot), addedSeq: mirror.entries.order(slot) };
  }
}
