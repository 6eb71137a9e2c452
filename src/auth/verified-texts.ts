import { timingSafeEqual } from 'node:crypto';
import { sha256OfText } from '../crypto/hash-functions.ts';

interface Verified<T> {
  /** SHA-256 of the whole text. */
  readonly digest: Uint8Array;
  readonly value: T;
}

/** At this number of texts all are forgotten, and verified anew. A valid key may come in texts that differ in case. */
const MAX_TEXTS = 4096;
const NO_DIGEST = new Uint8Array(32);
/** Scratch space of one call. */
const scratch = new Uint8Array(32);

/**
 * Texts with a secret that were right before, each with its meaning, so that one hash verifies them again. Only digests
 * are stored and looked up. A digest is made and compared for every text, so that the time reveals nothing about others.
 */
export class VerifiedTexts<T> {
  /** By the first four bytes of the digest. A second text with the same ones takes the place of the first. */
  readonly #byDigest = new Map<number, Verified<T>>();

  /** Returns null for a text that was not added since the last `clear`. */
  find(text: string): T | null {
    const digest = sha256OfText(text, scratch);
    const verified = this.#byDigest.get(headOf(digest));
    return timingSafeEqual(digest, verified?.digest ?? NO_DIGEST) && verified ? verified.value : null;
  }

  add(text: string, value: T): void {
    if (this.#byDigest.size >= MAX_TEXTS) this.clear();
    const digest = sha256OfText(text);
    this.#byDigest.set(headOf(digest), { digest, value });
  }

  clear(): void {
    this.#byDigest.clear();
  }
}

function headOf(digest: Uint8Array): number {
  return digest[0]! | (digest[1]! << 8) | (digest[2]! << 16) | (digest[3]! << 24);
}
