import type { Pointer } from 'bun:ffi';
import { assert } from '../util/assert.ts';
import { NativeBytes } from './system-library.ts';

/** Size of a secp256k1_pubkey or secp256k1_xonly_pubkey, bytes. */
const PARSED_SIZE = 64;
const X_SIZE = 32;

/** The kind of an X-only key. A compressed key has its first byte, 2 or 3, as its kind, and an empty slot has 0. */
export const X_ONLY = 1;

/**
 * The keys that one thread has parsed last. To parse 33 or 32 bytes computes a square root, a tenth of a verification,
 * and the keys of addresses that are used again return. Each key has one slot, chosen by its X, and replaces the key
 * that has it: keys that are made to share a slot are parsed each time, as without the cache.
 */
export class ParsedKeyCache {
  readonly #mask: number;
  readonly #kinds: Uint8Array;
  readonly #xs: Uint8Array;
  readonly #parsed: NativeBytes;

  /** `slots`: a power of two. A slot has 97 bytes. */
  constructor(slots: number) {
    assert(slots > 0 && (slots & (slots - 1)) === 0, 'a power of two as the number of slots');
    this.#mask = slots - 1;
    this.#kinds = new Uint8Array(slots);
    this.#xs = new Uint8Array(slots * X_SIZE);
    this.#parsed = new NativeBytes(slots * PARSED_SIZE);
  }

  /** Returns the slot of the key whose X begins at `at`. */
  slotOf(key: Uint8Array, at: number): number {
    return (key[at + 29]! | (key[at + 30]! << 8) | (key[at + 31]! << 16)) & this.#mask;
  }

  /** Whether the slot has exactly this key. */
  holds(slot: number, kind: number, key: Uint8Array, at: number): boolean {
    if (this.#kinds[slot] !== kind) return false;
    const xs = this.#xs;
    const from = slot * X_SIZE;
    for (let i = 0; i < X_SIZE; i++) if (xs[from + i] !== key[at + i]) return false;
    return true;
  }

  /** Returns the memory for the parsed key of the slot. It may change only between `clear` and `set`. */
  addressOf(slot: number): Pointer {
    return (this.#parsed.address + slot * PARSED_SIZE) as Pointer;
  }

  /** Makes the slot empty, before its memory is written. */
  clear(slot: number): void {
    this.#kinds[slot] = 0;
  }

  /** Says which key the memory of the slot has. */
  set(slot: number, kind: number, key: Uint8Array, at: number): void {
    const xs = this.#xs;
    const to = slot * X_SIZE;
    for (let i = 0; i < X_SIZE; i++) xs[to + i] = key[at + i]!;
    this.#kinds[slot] = kind;
  }
}
