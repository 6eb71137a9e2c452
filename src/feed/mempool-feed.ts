import { ApiError } from '../http/errors.ts';
import { changeBytes, type MempoolChange } from '../mempool/changes.ts';
import { MempoolMirror, type TxSource } from '../mempool/mirror.ts';
import type { NodeUpdate } from '../port/node-port.ts';
import type { Clock } from '../util/clock.ts';

/** A change the mirror has taken in; of what has left, the bytes that it no longer has. */
export type SeenChange =
  | Exclude<MempoolChange, { kind: 'removed' }>
  | (Extract<MempoolChange, { kind: 'removed' }> & { readonly gone?: TxSource | null });

/** One turn of taking in what the node tells; then requests have theirs. */
const SLICE_MS = 1;
/** Changes between two looks at the clock. */
const STEP = 8;

export interface MempoolFeedOptions {
  readonly clock: Clock;
  /** The mirror shows these now. */
  onChanges(changes: readonly SeenChange[]): void;
  /** All that came before it, and the commit itself, can be read now. */
  onCommit(commit: NonNullable<NodeUpdate['commit']>): void;
  /** So many bytes of changes more, as `changeBytes` counts, have been taken in. */
  onTaken(bytes: number): void;
}

/**
 * Keeps the mirror of the mempool in line with what the node tells, a little at a time, and passes it on in the same
 * order. While it is in the midst of a block, the mirror still names the block before.
 */
export class MempoolFeed {
  readonly mirror: MempoolMirror;
  readonly #options: MempoolFeedOptions;
  readonly #news: NodeUpdate[] = [];
  /** Changes of the first of them that are taken in already. */
  #taken = 0;
  /** Bytes that were taken in and not told of. */
  #untold = 0;
  #running = false;
  #moved = Promise.withResolvers<void>();

  constructor(options: MempoolFeedOptions) {
    this.#options = options;
    this.mirror = new MempoolMirror(options.clock);
  }

  /** Hash of the block that is there when the first news are still to come. */
  startAt(tip: string): void {
    this.mirror.tip = tip;
  }

  take(news: NodeUpdate): void {
    this.#news.push(news);
    if (!this.#running) this.#run();
  }

  /** Resolves when the mirror stands on another block, or after a while. Rejects when the signal aborts. */
  async moved(signal: AbortSignal): Promise<void> {
    const late = AbortSignal.timeout(LONGEST_WAIT_MS);
    const ended = Promise.withResolvers<void>();
    const any = AbortSignal.any([signal, late]);
    any.addEventListener('abort', () => ended.resolve(), { once: true });
    if (!any.aborted) await Promise.race([this.#moved.promise, ended.promise]);
    if (signal.aborted) throw new ApiError('overloaded', 'the answer took too long');
  }

  /** Resolves when all that has come so far is taken in. */
  async drained(): Promise<void> {
    while (this.#running) await new Promise((resolve) => setImmediate(resolve));
  }

  #run(): void {
    this.#running = true;
    const until = performance.now() + SLICE_MS;
    while (this.#news.length > 0) {
      const { changes, commit } = this.#news[0]!;
      while (this.#taken < changes.length) {
        const slice = changes.slice(this.#taken, this.#taken + STEP).map((change) => this.#see(change));
        this.#taken += slice.length;
        this.#options.onChanges(slice);
        if (performance.now() < until) continue;
        if (this.#untold >= TELL_BYTES) this.#tell();
        setImmediate(() => this.#run());
        return;
      }
      this.#news.shift();
      this.#taken = 0;
      if (!commit) continue;
      this.mirror.tip = commit.tip.hash;
      this.#options.onCommit(commit);
      this.#moved.resolve();
      this.#moved = Promise.withResolvers();
    }
    this.#running = false;
    if (this.#untold > 0) this.#tell();
  }

  #tell(): void {
    this.#options.onTaken(this.#untold);
    this.#untold = 0;
  }

  #see(change: MempoolChange): SeenChange {
    const seen = change.kind === 'removed' ? { ...change, gone: this.mirror.source(change.txid) } : change;
    this.mirror.apply(change);
    this.#untold += changeBytes(change);
    return seen;
  }
}

const LONGEST_WAIT_MS = 1000;
/** The node is told after so many bytes at the latest; a small part of what it lets be on the way. */
const TELL_BYTES = 1 << 18;
