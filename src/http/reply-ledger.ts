import { type Counts, LocalCounts } from '../util/counts.ts';
import { ApiError } from './errors.ts';
import type { Owner } from './owner.ts';
import { PieceQueue } from './piece-queue.ts';

/**
 * Limits of unsent bytes of long replies. At the limit no further reply is admitted. At most twice the limit is held,
 * since a reply that is being made at that moment is still sent.
 */
export interface ReplyLimits {
  /** Limit of one key, or of one address without a key. */
  readonly perOwner: number;
  readonly total: number;
}

/** Shorter replies are sent by the runtime with a Content-Length; the system's buffers hold them anyway. */
export const LONG_REPLY = 128 << 10;
const PIECE = 256 << 10;
const HARD = 2;
/** Interval at which a front tries again while the replies of all fronts leave no room, milliseconds. */
const RETRY_MS = 20;
const ALL = 'unsent';

/** The owner of a reply, and the signal that aborts when its client disconnects. */
export interface Addressee {
  readonly owner: Owner;
  readonly signal: AbortSignal;
}

/**
 * Counts the bytes of long replies until their clients have read them. The runtime does not report the progress of a
 * reply, so a long reply is passed to it in pieces, as fast as the client reads.
 */
export class ReplyLedger {
  readonly #limits: ReplyLimits;
  /** Bytes by owner, and of all. */
  readonly #counts: Counts;
  readonly #isShared: boolean;
  readonly #listeners: (() => void)[] = [];
  readonly #queue = new PieceQueue();
  /** Unsent bytes of this front. */
  #own = 0;
  #retry: ReturnType<typeof setTimeout> | null = null;

  /** `shared` are the counts of all fronts; null with one front. */
  constructor(limits: ReplyLimits, shared: Counts | null = null) {
    this.#limits = limits;
    this.#isShared = shared !== null;
    this.#counts = shared ?? new LocalCounts();
  }

  /** Number of unsent bytes of this front. */
  get unsent(): number {
    return this.#own;
  }

  /** Whether another long reply may be made for this owner. */
  hasRoom(owner: Owner): boolean {
    const hasRoom = this.#total < this.#limits.total && this.#ownerHasRoom(owner, 1);
    if (!hasRoom && this.#isShared) this.#notifyLater();
    return hasRoom;
  }

  /** Calls the listener whenever bytes were sent. */
  onRoom(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Throws ApiError when too many bytes are unsent for another long reply: `rate_limited` for the owner's own limit,
   * `overloaded` for that of all.
   */
  admit(owner: Owner): void {
    if (!this.#ownerHasRoom(owner, HARD))
      throw new ApiError('rate_limited', 'too many long replies are not read yet', { scope: 'replies', retryAfter: 1 });
    if (this.#total >= HARD * this.#limits.total)
      throw new ApiError('overloaded', 'too many long replies are not read yet');
  }

  /** Returns the body of a reply. A long one is counted until it is sent or its client has disconnected. */
  body(bytes: Uint8Array, to: Addressee): Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> {
    if (bytes.length <= LONG_REPLY) return bytes as Uint8Array<ArrayBuffer>;
    return this.stream(piecesOf(bytes), bytes.length, to);
  }

  /**
   * Returns a body whose pieces are made while they are sent; `length` is their total length, as far as it is known.
   */
  stream(pieces: Iterator<Uint8Array>, length: number, { owner, signal }: Addressee): ReadableStream<Uint8Array> {
    let left = length;
    this.#count(owner, length);
    const sent = (count: number) => {
      const known = Math.min(left, count);
      left -= known;
      this.#count(owner, -known);
      this.#notify();
    };
    const forget = () => sent(left);
    // A client may disconnect before the runtime has requested the first piece.
    if (signal.aborted) forget();
    else signal.addEventListener('abort', forget, { once: true });
    const queue = this.#queue;
    return new ReadableStream({
      async pull(controller) {
        await queue.nextPiece(owner);
        const { done, value } = pieces.next();
        if (done) {
          signal.removeEventListener('abort', forget);
          forget();
          controller.close();
        } else {
          controller.enqueue(value);
          sent(value.length);
        }
      },
      cancel: forget,
    });
  }

  #ownerHasRoom(owner: Owner, factor: number): boolean {
    return this.#counts.get(nameOf(owner)) < factor * this.#limits.perOwner;
  }

  get #total(): number {
    return this.#counts.get(ALL);
  }

  #count(owner: Owner, bytes: number): void {
    this.#own += bytes;
    for (const name of [ALL, nameOf(owner)])
      if (bytes > 0) this.#counts.add(name, Number.POSITIVE_INFINITY, bytes);
      else this.#counts.subtract(name, -bytes);
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Bytes that another front sends notify no listener here. */
  #notifyLater(): void {
    this.#retry ??= setTimeout(() => {
      this.#retry = null;
      this.#notify();
    }, RETRY_MS);
    this.#retry.unref();
  }
}

function nameOf(owner: Owner): string {
  return `unsent ${owner}`;
}

function* piecesOf(bytes: Uint8Array): Generator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE);
}
