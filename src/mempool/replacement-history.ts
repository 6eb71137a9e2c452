import { hashToHex, type Txid } from '../primitives/hash.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';

/** A transaction that another one replaced in the mempool. */
export interface Replacement {
  readonly txid: Txid;
  readonly replacedBy: Txid;
  /** Satoshis. */
  readonly fee: number;
  readonly vsize: number;
  /** Times of its acceptance and of its replacement, Unix seconds. */
  readonly time: number;
  readonly replacedAt: number;
}

interface Kept extends Replacement {
  /** Monotonic time of the replacement, milliseconds. */
  readonly at: number;
}

/** Limits of the kept replacements: time in milliseconds, and number. */
const KEPT_MS = 24 * 3600 * 1000;
const MAX_KEPT = 50_000;
/** Replacements that one search visits. */
const MAX_VISITED = 1000;

/** The replacements of the last day. The oldest ones are dropped at 50,000. */
export class ReplacementHistory {
  readonly #clock: Clock;
  /** By txid, in hex; oldest first. */
  readonly #kept = new Map<string, Kept>();
  /** Txids of the replaced transactions by that of their replacement, in hex. */
  readonly #replaced = new Map<string, Set<string>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(replaced: Omit<Replacement, 'replacedAt'>): void {
    const key = hashToHex(replaced.txid);
    this.#drop(key);
    const now = this.#clock.monotonicMs();
    this.#kept.set(key, { ...replaced, at: now, replacedAt: unixSeconds(this.#clock) });
    const by = hashToHex(replaced.replacedBy);
    this.#replaced.set(by, (this.#replaced.get(by) ?? new Set()).add(key));
    for (const [old, { at }] of this.#kept) {
      if (this.#kept.size <= MAX_KEPT && now - at < KEPT_MS) break;
      this.#drop(old);
    }
  }

  /** Forgets that a transaction was replaced, since it is in the mempool again. */
  forget(txid: Txid): void {
    if (this.#kept.size > 0) this.#drop(hashToHex(txid));
  }

  /** Returns the replacement of a transaction; null without one. */
  get(txid: Txid): Replacement | null {
    const kept = this.#kept.get(hashToHex(txid));
    return kept && this.#isRecent(kept) ? kept : null;
  }

  /** Returns the transactions that a transaction replaced directly. */
  replacedBy(txid: Txid): Replacement[] {
    const keys = this.#replaced.get(hashToHex(txid)) ?? [];
    return Array.from(keys, (key) => this.#kept.get(key)!).filter((kept) => this.#isRecent(kept));
  }

  /** Returns the newest transaction that replaced this one, directly or through others; itself without one. */
  newestOf(txid: Txid): Txid {
    let newest = txid;
    for (let steps = 0; steps < MAX_VISITED; steps++) {
      const next = this.get(newest);
      if (!next) break;
      newest = next.replacedBy;
    }
    return newest;
  }

  /**
   * Returns the transactions that a transaction replaced, directly or through others, newest first and at most `limit`.
   * `isTruncated` says that there are more.
   */
  replacedThrough(
    txid: Txid,
    limit: number,
  ): { readonly items: readonly Replacement[]; readonly isTruncated: boolean } {
    const found: Replacement[] = [];
    const next = [txid];
    for (const replacing of next) {
      if (found.length >= MAX_VISITED) break;
      for (const each of this.replacedBy(replacing)) {
        found.push(each);
        next.push(each.txid);
      }
    }
    found.sort((a, b) => b.replacedAt - a.replacedAt);
    return { items: found.slice(0, limit), isTruncated: found.length > limit };
  }

  #isRecent({ at }: Kept): boolean {
    return this.#clock.monotonicMs() - at < KEPT_MS;
  }

  #drop(key: string): void {
    const kept = this.#kept.get(key);
    if (!kept) return;
    this.#kept.delete(key);
    const by = hashToHex(kept.replacedBy);
    const others = this.#replaced.get(by)!;
    others.delete(key);
    if (others.size === 0) this.#replaced.delete(by);
  }
}
