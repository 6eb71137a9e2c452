import type { TxSource } from '../mempool/mirror.ts';
import type { NodeUpdate } from '../port/node-port.ts';
import {
  type MempoolBatch,
  type MempoolEntry,
  mempoolEntryBytes,
  mempoolEntryOf,
  type PackedEntry,
} from './mempool-entries.ts';

export interface MempoolOutboxOptions {
  readonly post: (batch: MempoolBatch) => void;
  /** Returns views of a transaction whose removal is reported. */
  readonly removed: (slot: number) => TxSource;
}

/** Events are collected for this time, since waking the other thread costs more than most events; milliseconds. */
const COLLECT_MS = 25;
/** Events of this many bytes are sent at once. */
const COLLECT_BYTES = 1 << 18;
/** A larger buffer is not kept. */
const MOST_KEPT_BYTES = 4 * COLLECT_BYTES;
/** Bytes that the receiver has not released yet. At the limit events are dropped until half of them are released. */
const LIMIT_BYTES = 32 << 20;

/**
 * Sends the events of the mempool to the thread of the sink, in their order and with the commits of the chain, while that
 * thread wants them. It never holds up the node: what the receiver does not release in time is dropped and becomes a gap.
 */
export class MempoolOutbox {
  readonly #options: MempoolOutboxOptions;
  #isOpen = false;
  #begins = false;
  #isAfterGap = false;
  #isFull = false;
  #entries: PackedEntry[] = [];
  /** The transactions of the entries, and how many bytes they have. */
  #bytes = new Uint8Array(COLLECT_BYTES);
  #at = 0;
  #collected = 0;
  #unreleased = 0;
  #upTo = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(options: MempoolOutboxOptions) {
    this.#options = options;
  }

  /** Bytes that were sent and are not released. */
  get unreleased(): number {
    return this.#unreleased;
  }

  /** Begins to send events. */
  open(): void {
    this.close();
    this.#isOpen = true;
    this.#begins = true;
    this.#isAfterGap = true;
    this.#flush();
  }

  /** Drops what is collected, and sends nothing until the next `open`. */
  close(): void {
    this.#isOpen = false;
    this.#isFull = false;
    this.#clear();
    this.#clearTimer();
  }

  /** Must be called when the receiver has ended, which then releases nothing more. */
  reset(): void {
    this.close();
    this.#unreleased = 0;
  }

  /** Records that the receiver holds this many bytes less. */
  release(bytes: number): void {
    this.#unreleased -= bytes;
    if (this.#unreleased <= LIMIT_BYTES / 2) this.#isFull = false;
  }

  /** Adds the events of an update. Their transactions must still be readable. */
  addUpdate({ changes, commit }: NodeUpdate): void {
    if (!this.#isOpen) return;
    for (const change of changes) {
      const entry = mempoolEntryOf(change, this.#options.removed);
      if (entry !== null) this.#add(entry);
    }
    if (commit !== null) this.#upTo = Math.max(this.#upTo, commit.lastSeq);
    // The rows of a block wait for this.
    if (commit !== null || this.#collected >= COLLECT_BYTES) this.#flush();
    else if (this.#entries.length > 0) this.#timer ??= setTimeout(() => this.#flush(), COLLECT_MS);
  }

  #add(entry: MempoolEntry): void {
    const bytes = mempoolEntryBytes(entry);
    if (this.#unreleased + this.#collected + bytes > LIMIT_BYTES) this.#isFull = true;
    if (this.#isFull) {
      // The events before the gap are sent before it.
      if (this.#entries.length > 0) this.#flush();
      this.#isAfterGap = true;
      return;
    }
    const { type, seq, data, tx } = entry;
    this.#collected += bytes;
    // Copies, since the mempool may use the memory again after this call.
    if (tx !== null) {
      this.#append(tx.raw);
      this.#append(tx.spent);
    }
    this.#entries.push({ type, seq, data, rawLength: tx?.raw.length ?? 0, spentLength: tx?.spent.length ?? 0 });
    this.#upTo = Math.max(this.#upTo, seq);
  }

  #append(part: Uint8Array): void {
    const end = this.#at + part.length;
    if (end > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(end, 2 * this.#bytes.length));
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes.set(part, this.#at);
    this.#at = end;
  }

  #flush(): void {
    this.#clearTimer();
    const facts = { begins: this.#begins, isAfterGap: this.#isAfterGap, upTo: this.#upTo };
    const batch = { ...facts, entries: this.#entries, bytes: this.#bytes.slice(0, this.#at) };
    this.#unreleased += this.#collected;
    this.#begins = this.#isAfterGap = false;
    this.#clear();
    this.#options.post(batch);
  }

  #clear(): void {
    this.#entries = [];
    this.#at = 0;
    this.#collected = 0;
    if (this.#bytes.length > MOST_KEPT_BYTES) this.#bytes = new Uint8Array(COLLECT_BYTES);
  }

  #clearTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
