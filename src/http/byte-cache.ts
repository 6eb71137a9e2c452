/**
 * Longest cached reply, which a block of two megabytes in the JSON of Core needs, and the part of the limit of a cache that
 * one may take. Bytes.
 */
const MAX_ENTRY = 16 << 20;
const MAX_SHARE = 1 / 2;

/** A cache of replies by key with a byte limit; the least recently used ones are evicted. */
export class ByteCache {
  readonly #maxBytes: number;
  readonly #entries = new Map<string, Uint8Array>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(key: string): Uint8Array | null {
    const value = this.#entries.get(key);
    if (!value) return null;
    // A Map keeps insertion order, so its first entry is the least recently used one.
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  /** Stores `value`, unless it is larger than 16 MiB or half of the limit. */
  set(key: string, value: Uint8Array): void {
    this.delete(key);
    if (value.length > Math.min(MAX_ENTRY, this.#maxBytes * MAX_SHARE)) return;
    this.#entries.set(key, value);
    this.#bytes += value.length;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#bytes -= this.#entries.get(key)?.length ?? 0;
    this.#entries.delete(key);
  }
}
