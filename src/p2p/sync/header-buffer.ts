import { hash256 } from '../../crypto/hash-functions.ts';
import type { BlockHash, MerkleRoot } from '../../primitives/hash.ts';
import { type BlockHeader, HEADER_SIZE, headerBytes } from '../../primitives/header.ts';

const PREVIOUS_HASH = 4;
const MERKLE_ROOT = PREVIOUS_HASH + 32;
/** Size of a header without its previous block hash, which follows from the header before. */
const COMPACT_SIZE = HEADER_SIZE - 32;

/** A queue of consecutive headers that takes 48 bytes per header. */
export class HeaderBuffer {
  #bytes: Uint8Array<ArrayBuffer>;
  #view: DataView;
  #first = 0;
  #size = 0;
  #firstPrevious: BlockHash;
  #lastHash: BlockHash;
  #lastBits = 0;

  /**
   * `hash` is the hash of the block before the first header. `capacity` is the initial capacity in headers; the queue
   * grows when it is full.
   */
  constructor(hash: BlockHash, capacity: number) {
    this.#bytes = new Uint8Array(COMPACT_SIZE * capacity);
    this.#view = new DataView(this.#bytes.buffer);
    this.#firstPrevious = hash;
    this.#lastHash = hash;
  }

  get size(): number {
    return this.#size;
  }

  /** Allocated memory, bytes. */
  get usage(): number {
    return this.#bytes.length;
  }

  /** The hash of the newest header, which the next one must refer to. */
  get lastHash(): BlockHash {
    return this.#lastHash;
  }

  /** nBits of the newest header; 0 if the queue is empty. */
  get lastBits(): number {
    return this.#size === 0 ? 0 : this.#lastBits;
  }

  /** Appends a header that follows the newest one; `hash` is its hash. */
  push(header: BlockHeader, hash: BlockHash): void {
    if (this.#size * COMPACT_SIZE === this.#bytes.length) this.#grow();
    const at = this.#at(this.#size++);
    const full = headerBytes(header);
    this.#bytes.set(full.subarray(0, PREVIOUS_HASH), at);
    this.#bytes.set(full.subarray(MERKLE_ROOT), at + PREVIOUS_HASH);
    this.#lastHash = hash;
    this.#lastBits = header.bits;
  }

  /** Removes and returns the oldest header. The queue must not be empty. */
  shift(): BlockHeader {
    const at = this.#at(0);
    const full = new Uint8Array(HEADER_SIZE);
    full.set(this.#bytes.subarray(at, at + PREVIOUS_HASH));
    full.set(this.#firstPrevious, PREVIOUS_HASH);
    full.set(this.#bytes.subarray(at + PREVIOUS_HASH, at + COMPACT_SIZE), MERKLE_ROOT);
    const view = this.#view;
    const header: BlockHeader = {
      version: view.getInt32(at, true),
      previousHash: this.#firstPrevious,
      merkleRoot: full.subarray(MERKLE_ROOT, MERKLE_ROOT + 32) as MerkleRoot,
      time: view.getUint32(at + 36, true),
      bits: view.getUint32(at + 40, true),
      nonce: view.getUint32(at + 44, true),
    };
    this.#firstPrevious = hash256(full) as BlockHash;
    this.#first++;
    if (this.#first * COMPACT_SIZE === this.#bytes.length) this.#first = 0;
    this.#size--;
    return header;
  }

  /** Returns the offset of the header with this index from the oldest. */
  #at(index: number): number {
    return ((this.#first + index) * COMPACT_SIZE) % this.#bytes.length;
  }

  /** Doubles the capacity of a full queue and moves the oldest header to the front. */
  #grow(): void {
    const bytes = new Uint8Array(this.#bytes.length * 2);
    const cut = this.#at(0);
    bytes.set(this.#bytes.subarray(cut));
    bytes.set(this.#bytes.subarray(0, cut), this.#bytes.length - cut);
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer);
    this.#first = 0;
  }
}
