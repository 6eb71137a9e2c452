import { locatorOf } from '../../chain/chain-entry.ts';
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
import { type RandomBelow, systemRandomBelow } from '../../util/random.ts';
import { HeaderBuffer } from './header-buffer.ts';

/** Maximum growth of a chain in blocks per second that the median-time-past rule allows. */
const FASTEST_BLOCKS = 6;
/** Maximum number of headers in a message. */
const MESSAGE_HEADERS = 2000;

/**
 * `presync`: the peer has not shown enough work yet, and only commitments to its headers are stored. `redownload`: it
 * has, and sends the same headers again. `done`: finished or failed.
 */
export type PresyncPhase = 'presync' | 'redownload' | 'done';

export interface PresyncOptions {
  readonly params: Pick<NetworkParams, 'consensus' | 'headersSync'>;
  /** The last known header of the peer's chain. */
  readonly start: HeaderEntry;
  /** Minimum chainwork of a chain whose headers are stored. */
  readonly minimumWork: bigint;
  /** Unix seconds. */
  readonly now: number;
  readonly randomBelow?: RandomBelow;
}

export interface PresyncResult {
  /** False if the peer sent invalid headers or headers that differ from the first download. */
  readonly success: boolean;
  /** Whether headers after `locator` must be requested; false if the sync is finished. */
  readonly requestMore: boolean;
  /** Headers of a chain with enough work, to be accepted in this order. */
  readonly headers: readonly BlockHeader[];
}

const FAILURE: PresyncResult = { success: false, requestMore: false, headers: [] };
/** Scratch space of one call. */
const words = new Uint32Array(2);

/**
 * Core's HeadersSyncState: protects memory against long chains of low-work headers, which are cheap to make. A long
 * chain is downloaded twice. The first download sums up the work and stores one bit of a secret hash for one header per
 * commitment period. If the work suffices, the headers are downloaded again, and each is returned once enough
 * commitments behind it have matched.
 *
 * For a chain of 900,000 headers on mainnet the first download takes 256 bytes and the second 0.8 MB for the buffer.
 * For the longest chain possible today the first download takes a megabyte.
 */
export class HeadersPresync {
  readonly #consensus: ConsensusParams;
  readonly #period: number;
  readonly #bufferSize: number;
  readonly #start: HeaderEntry;
  readonly #minimumWork: bigint;
  readonly #maxCommitments: number;
  /** Headers at heights with this remainder are committed to; secret, so that an attacker cannot predict them. */
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
  /** Whether the second download has reached the minimum work; the remaining headers need no commitments. */
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

  /** Height, last header time and chainwork that the first download has reached. */
  get height(): number {
    return this.#height;
  }

  get time(): number {
    return this.#last.time;
  }

  get chainwork(): bigint {
    return this.#chainwork;
  }

  /** Memory that grows with the peer's chain, bytes. */
  get usage(): number {
    return this.#commitments.usage + (this.#buffer?.usage ?? 0);
  }

  /**
   * Processes the next headers, at least one. The caller has verified that they are consecutive and meet their own
   * target. `full` says that the message had the maximum number of headers, so that more may follow.
   */
  process(headers: readonly BlockHeader[], full: boolean): PresyncResult {
    assert(headers.length > 0 && this.#phase !== 'done', 'headers for a download that is going on');
    const result = this.#phase === 'presync' ? this.#presync(headers, full) : this.#redownload(headers, full);
    if (!result.requestMore) this.#finish();
    return result;
  }

  /** Returns the locator of the next `getheaders`. */
  locator(): BlockHash[] {
    assert(this.#phase !== 'done', 'the download is going on');
    return [this.#buffer?.lastHash ?? this.#lastHash, ...locatorOf(this.#start)];
  }

  #presync(headers: readonly BlockHeader[], full: boolean): PresyncResult {
    // The peer may have switched to another chain since the last message, which is no fault, but ends this sync.
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
      // No chain can be this long by now; a later sync may be possible.
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
    // A message that is not full ends the chain, so the peer no longer serves the chain of the first download.
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
    // Beyond the minimum work the chain may be longer than in the first download.
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

  /** Frees the memory and ends the use of the secret key. */
  #finish(): void {
    this.#phase = 'done';
    this.#commitments.clear();
    this.#buffer = null;
  }
}

/**
 * Caches the work of the last target: consecutive headers mostly have the same one, and dividing 256-bit numbers is
 * slow.
 */
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
