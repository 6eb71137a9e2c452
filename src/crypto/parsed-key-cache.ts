import type { Pointer } from 'bun:ffi';
import { assert } from '../util/assert.ts';
import { NativeBytes } from './system-library.ts';

const WAYS = 4;
const X_WORDS = 8;
/** Offset of X in the input: its words are aligned, and the first byte of a compressed key lies before it. */
const X_AT = 4;
/** A slot has 32 words: the kind of its key, its X from the eighth on, and the parsed key from the sixteenth on. */
const SLOT_WORDS = 32;
const SLOT_X = 8;
const SLOT_PARSED = 16;
/** The kind of an X-only key. A compressed key has its first byte, 2 or 3, as its kind, and an empty slot has 0. */
const X_ONLY = 1;

/**
 * The keys that one thread has parsed lately. Parsing 33 or 32 bytes computes a square root, a tenth of a verification,
 * and the keys of addresses that are used again return. The X of a key chooses a set of four slots, in which the key that
 * came first is replaced: keys that are made to share a set are parsed each time, as without the cache.
 */
export class ParsedKeyCache {
  readonly #sets: number;
  /** The first word of each X, so that one line of memory decides which slot is compared. */
  readonly #tags: Uint32Array;
  /** The way of each set that is replaced next. */
  readonly #next: Uint8Array;
  readonly #slots: NativeBytes;
  readonly #words: Uint32Array;
  /** The key that is looked up. */
  readonly #input = new NativeBytes(X_AT + X_WORDS * 4);
  readonly #x = new Uint32Array(this.#input.bytes.buffer, X_AT, X_WORDS);
  #kind = X_ONLY;

  /** `keys`: four times a power of two. A key has 132 bytes. */
  constructor(keys: number) {
    this.#sets = keys / WAYS;
    assert(keys >= WAYS && Number.isInteger(Math.log2(this.#sets)), 'four times a power of two as the number of keys');
    this.#tags = new Uint32Array(keys);
    this.#next = new Uint8Array(this.#sets);
    this.#slots = new NativeBytes(keys * SLOT_WORDS * 4);
    this.#words = new Uint32Array(this.#slots.bytes.buffer);
  }

  /** Sets a compressed key, 33 bytes, as the one that is looked up. Returns the address of its copy. */
  loadCompressed(key: Uint8Array): Pointer {
    this.#load(key, X_AT - 1);
    this.#kind = this.#input.bytes[X_AT - 1]!;
    return (this.#input.address + X_AT - 1) as Pointer;
  }

  /** As `loadCompressed`, for an X-only key of 32 bytes. */
  loadXOnly(key: Uint8Array): Pointer {
    this.#load(key, X_AT);
    this.#kind = X_ONLY;
    return (this.#input.address + X_AT) as Pointer;
  }

  /** Returns the slot that has exactly this key, or -1. */
  findSlot(): number {
    const x = this.#x;
    const first = this.#firstSlot();
    for (let slot = first; slot < first + WAYS; slot++)
      if (this.#tags[slot] === x[0] && this.#hasKey(slot * SLOT_WORDS)) return slot;
    return -1;
  }

  /** Empties the slot that the key will have, and returns it. */
  evictSlot(): number {
    const first = this.#firstSlot();
    const set = first / WAYS;
    const way = this.#next[set]!;
    this.#next[set] = (way + 1) % WAYS;
    this.#words[(first + way) * SLOT_WORDS] = 0;
    return first + way;
  }

  /** Gives a slot the key, whose parsed form has been written to its memory. */
  fillSlot(slot: number): void {
    const x = this.#x;
    const base = slot * SLOT_WORDS;
    this.#tags[slot] = x[0]!;
    for (let i = 0; i < X_WORDS; i++) this.#words[base + SLOT_X + i] = x[i]!;
    this.#words[base] = this.#kind;
  }

  /** Returns the memory for the parsed key of a slot: a secp256k1_pubkey or secp256k1_xonly_pubkey. */
  parsedAt(slot: number): Pointer {
    return (this.#slots.address + (slot * SLOT_WORDS + SLOT_PARSED) * 4) as Pointer;
  }

  #load(key: Uint8Array, at: number): void {
    const { bytes } = this.#input;
    if (key.length !== bytes.length - at)
      throw new RangeError(`a key of ${key.length} bytes instead of ${bytes.length - at} for libsecp256k1`);
    bytes.set(key, at);
  }

  #firstSlot(): number {
    return (this.#x[X_WORDS - 1]! & (this.#sets - 1)) * WAYS;
  }

  #hasKey(base: number): boolean {
    const words = this.#words;
    const x = this.#x;
    if (words[base] !== this.#kind) return false;
    for (let i = 0; i < X_WORDS; i++) if (words[base + SLOT_X + i] !== x[i]) return false;
    return true;
  }
}
