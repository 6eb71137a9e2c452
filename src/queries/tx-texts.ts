import type { ChainState } from '../storage/chain-reads.ts';
import type { ChainSource } from '../storage/chain-source.ts';
import type { ReadSettings } from './read-settings.ts';

/** The environment of an answer, as far as the cache needs it. */
interface TextEnv {
  readonly reads: Pick<ChainSource, 'headers'>;
  readonly state: ChainState;
  readonly settings: ReadSettings;
}

/** Counts look-ups in the cache. */
export interface TextCounts {
  readonly hits: number;
  readonly misses: number;
  /** Size of the stored texts, bytes. */
  readonly bytes: number;
}

interface Stored {
  readonly text: unknown;
  readonly bytes: number;
}

/** Size of an entry beside its text, bytes. */
const ENTRY_BYTES = 256;
/** Part of the limit that one entry may use. */
const LARGEST_SHARE = 1 / 64;

/**
 * Confirmed transactions and blocks in JSON, in the parts that stay the same while a transaction is in its block, and a block
 * in the active chain: all but confirmations, the tip, and which outputs are spent. A reorg removes all entries. With pruning each commit does,
 * since it may have deleted the undo data. At the limit of bytes the least recently used entries are evicted.
 */
export class TxTexts {
  readonly #maxBytes: number;
  readonly #stored = new Map<string, Stored>();
  /** The state that all entries belong to. */
  #state: ChainState | null = null;
  #bytes = 0;
  #hits = 0;
  #misses = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get counts(): TextCounts {
    return { hits: this.#hits, misses: this.#misses, bytes: this.#bytes };
  }

  /** Returns the entry that was stored under `key`, or null. Each key has entries of one type. */
  find<T>(env: TextEnv, key: string): T | null {
    if (env.state !== this.#state) this.#follow(env);
    const stored = this.#stored.get(key);
    if (stored === undefined) {
      this.#misses++;
      return null;
    }
    this.#hits++;
    // A Map keeps insertion order, so its first entry is the least recently used one.
    this.#stored.delete(key);
    this.#stored.set(key, stored);
    return stored.text as T;
  }

  /** Stores an entry of `bytes` bytes of text, unless it is too long. */
  store(env: TextEnv, key: string, text: unknown, bytes: number): void {
    if (env.state !== this.#state) this.#follow(env);
    const size = bytes + ENTRY_BYTES;
    if (size > this.#maxBytes * LARGEST_SHARE) return;
    this.#remove(key);
    this.#stored.set(key, { text, bytes: size });
    this.#bytes += size;
    for (const oldest of this.#stored.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#remove(oldest);
    }
  }

  /** Keeps the entries if the chain has only grown since the last look-up. */
  #follow(env: TextEnv): void {
    const before = this.#state;
    if (before !== null && this.#stored.size > 0 && !hasOnlyGrown(env, before)) {
      this.#stored.clear();
      this.#bytes = 0;
    }
    this.#state = env.state;
  }

  #remove(key: string): void {
    this.#bytes -= this.#stored.get(key)?.bytes ?? 0;
    this.#stored.delete(key);
  }
}

function hasOnlyGrown(env: TextEnv, before: ChainState): boolean {
  if (env.settings.prune !== null) return false;
  return env.state.tip.id === before.tip.id || env.reads.headers.isActive(before.tip);
}
