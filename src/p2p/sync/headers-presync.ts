import { locatorOf } from '../../chain/locator.ts';
import type { ConsensusParams } from '../../consensus/consensus-params.ts';
import { permittedDifficultyTransition } from '../../consensus/difficulty.ts';
import { type HeaderEntry, medianTimePast } from '../../consensus/header-entry.ts';
import { MAX_FUTURE_BLOCK_TIME } from '../../consensus/limits.ts';
import { workOf } from '../../consensus/work.ts';
import { type SipHashKey, sipHashWords } from '../../crypto/siphash.ts';
import type { NetworkParams } from '../../params/network-params.ts';
import type { BlockHash } from '../../primitives/hash.ts';
import { type BlockHeader, headerHash } from '../../primitives/header.ts';
import { assert } from '../../util/assert.ts';
import { BitQueue } from '../../util/bit-queue.ts';
import { equalBytes } from '../../util/bytes.ts';
import { type RandomBelow, systemRandomBelow } from '../random-source.ts';
import { HeaderBuffer } from './header-buffer.ts';

/** The median time past lets a chain grow no faster, in blocks a second. */
const FASTEST_BLOCKS = 6;
/** What a message brings at most. */
const MESSAGE_HEADERS = 2000;

/**
 * `presync`: the peer has not shown enough work yet, and of what it sends only commitments are kept. `redownload`: it
 * has, and sends the same headers again. `done`: over, one way or the other.
 */
export type PresyncPhase = 'presync' | 'redownload' | 'done';

export interface PresyncOptions {
  readonly params: Pick<NetworkParams, 'consensus' | 'headersSync'>;
  /** The last header we have of the peer's chain. */
  readonly start: HeaderEntry;
  /** Chainwork from which headers are kept. */
  readonly minimumWork: bigint;
  /** Unix seconds. */
  readonly now: number;
  readonly randomBelow?: RandomBelow;
}

export interface PresyncResult {
  /** False where the peer sent what cannot be, or not what it sent before. */
  readonly success: boolean;
  /** `locator` tells what is to be asked for next. Where this is false, it is over. */
  readonly requestMore: boolean;
  /** On a chain with enough work: to be accepted in this order. */
  readonly headers: readonly BlockHeader[];
}

const FAILURE: PresyncResult = { success: false, requestMore: false, headers: [] };

/**
 * Headers cost nothing to make where their work is low, and must not fill our memory before the chain they are on is
 * known to have enough of it. So a long chain is downloaded twice: first only its work is summed up, and a bit of a
 * secret hash is noted for one header in some hundreds; then, when the work suffices, headers are taken a second time,
 * and handed on once enough of those bits that follow them were right.
 *
 * Of a chain of 900,000 headers on the main network that takes 256 bytes first, and 0.8 MB, the buffer, the second time;
 * of the longest chain that there can be by now, a megabyte first.
 */
export class HeadersPresync {
  readonly #consensus: ConsensusParams;
  readonly #period: number;
  readonly #bufferSize: number;
  readonly #start: HeaderEntry;
  readonly #minimumWork: bigint;
  readonly #maxCommitments: number;
  /** Heights with this remainder are committed to; nobody else knows which. */
  readonly #offset: number;
  readonly #key: SipHashKey;
  readonly #work = new WorkCounter();
  #phase: PresyncPhase = 'presync';
  readonly #commitments = new BitQueue();
  #height: number;
  #lastHash: BlockHash;
  #last: { readonly time: number; readonly bits: number };
  #chainwork: bigint;
  #buffer: HeaderBuffer | null = null;
  #redownloadHeight = 0;
  #redownloadWork = 0n;
  /** The second download has reached enough work: what is left of it needs no commitments. */
  #proven = false;

  constructor({ params, start, minimumWork, now, randomBelow = systemRandomBelow }: PresyncOptions) {
    this.#consensus = params.consensus;
    this.#period = params.headersSync.commitmentPeriod;
    this.#bufferSize = params.headersSync.redownloadBufferSize;
    assert(this.#period > 0, 'commitments have a period');
    this.#start = start;
    this.#minimumWork = minimumWork;
    const seconds = Math.max(0, now - medianTimePast(start) + MAX_FUTURE_BLOCK_TIME);
    this.#maxCommitments = Math.floor((FASTEST_BLOCKS * seconds) / this.#period);
    this.#offset = randomBelow(this.#period);
    this.#key = Int32Array.from({ length: 4 }, () => randomBelow(0x1_0000_0000));
    this.#height = start.height;
    this.#lastHash = start.hash;
    this.#last = start;
    this.#chainwork = start.chainwork;
  }

  get phase(): PresyncPhase {
    return this.#phase;
  }

  /** Height, time of the last header, and work, that the first download has got to. */
  get height(): number {
    return this.#height;
  }

  get time(): number {
    return this.#last.time;
  }

  get chainwork(): bigint {
    return this.#chainwork;
  }

  /** Bytes of memory that grow with the peer's chain. */
  get usage(): number {
    return this.#commitments.usage + (this.#buffer?.usage ?? 0);
  }

  /**
   * Takes the next headers of the peer, one at least. They follow one another, and each meets the target it states: the
   * caller has seen to that. `full`: the message held as many as it can, so there may be more.
   */
  process(headers: readonly BlockHeader[], full: boolean): PresyncResult {
    assert(headers.length > 0 && this.#phase !== 'done', 'headers for a download that is going on');
    const result = this.#phase === 'presync' ? this.#presync(headers, full) : this.#redownload(headers, full);
    if (!result.requestMore) this.#finish();
    return result;
  }

  /** What to ask for next. */
  locator(): BlockHash[] {
    assert(this.#phase !== 'done', 'the download is going on');
    return [this.#buffer?.lastHash ?? this.#lastHash, ...locatorOf(this.#start)];
  }

  #presync(headers: readonly BlockHeader[], full: boolean): PresyncResult {
    // The peer may have changed to another chain since the last message: no fault, but nothing to go on with.
    if (!equalBytes(headers[0]!.previousHash, this.#lastHash)) return FAILURE;
    for (const header of headers) if (!this.#commit(header)) return FAILURE;
    this.#lastHash = headerHash(headers.at(-1)!);
    if (this.#chainwork < this.#minimumWork) return { success: true, requestMore: full, headers: [] };
    this.#phase = 'redownload';
    this.#buffer = new HeaderBuffer(this.#start.hash, this.#bufferSize + MESSAGE_HEADERS);
    this.#redownloadHeight = this.#start.height;
    this.#redownloadWork = this.#start.chainwork;
    return { success: true, requestMore: true, headers: [] };
  }

  #commit(header: BlockHeader): boolean {
    const height = this.#height + 1;
    const { bits, time } = header;
    if (!permittedDifficultyTransition(height, this.#last.bits, bits, this.#consensus)) return false;
    if (height % this.#period === this.#offset) {
      this.#commitments.push(this.#bitOf(headerHash(header)));
      // No chain can be longer by now; a later try may get further.
      if (this.#commitments.size > this.#maxCommitments) return false;
    }
    this.#chainwork += this.#work.of(bits);
    this.#last = { time, bits };
    this.#height = height;
    return true;
  }

  #redownload(headers: readonly BlockHeader[], full: boolean): PresyncResult {
    const buffer = this.#buffer!;
    for (const header of headers) if (!this.#verify(header, buffer)) return FAILURE;
    const ready: BlockHeader[] = [];
    while (buffer.size > (this.#proven ? 0 : this.#bufferSize)) ready.push(buffer.shift());
    // Where the message was not full, the peer no longer gives us the chain that it gave us before.
    return { success: true, requestMore: full && !this.#proven, headers: ready };
  }

  #verify(header: BlockHeader, buffer: HeaderBuffer): boolean {
    const height = this.#redownloadHeight + 1;
    const { bits } = header;
    if (!equalBytes(header.previousHash, buffer.lastHash)) return false;
    const previousBits = buffer.size === 0 ? this.#start.bits : buffer.lastBits;
    if (!permittedDifficultyTransition(height, previousBits, bits, this.#consensus)) return false;
    this.#redownloadWork += this.#work.of(bits);
    if (this.#redownloadWork >= this.#minimumWork) this.#proven = true;
    const hash = headerHash(header);
    // Once the work is there, the chain may go on beyond what was committed to.
    if (!this.#proven && height % this.#period === this.#offset) {
      if (this.#commitments.size === 0 || this.#commitments.shift() !== this.#bitOf(hash)) return false;
    }
    buffer.push(header, hash);
    this.#redownloadHeight = height;
    return true;
  }

  #bitOf(hash: BlockHash): number {
    sipHashWords(this.#key, hash, words);
    return words[0]! & 1;
  }

  /** The key must not serve a second time, and the memory is not needed. */
  #finish(): void {
    this.#phase = 'done';
    this.#commitments.clear();
    this.#buffer = null;
  }
}

const words = new Uint32Array(2);

/** Neighbours mostly state the same target, and a division of 256 bits is slow. */
class WorkCounter {
  #bits = 0;
  #work = 0n;

  of(bits: number): bigint {
    if (bits !== this.#bits) {
      this.#bits = bits;
      this.#work = workOf(bits);
    }
    return this.#work;
  }
}
