import { compareFeerate } from './feefrac.ts';

/** Entries whose slot has changed since are skipped; the heap is cleaned of them when they are this many times the rest. */
const CLEAN_ABOVE = 4;
const CLEAN_AT_LEAST = 1024;

interface Entry {
  readonly slot: number;
  readonly version: number;
  readonly fee: number;
  readonly size: number;
}

/** The last chunk of every cluster, the one with the lowest feerate on top. */
export class ChunkHeap {
  readonly #isValid: (slot: number, version: number) => boolean;
  #entries: Entry[] = [];
  #cleaned = 0;

  /** `isValid` tells whether a slot still has the version it was added with. */
  constructor(isValid: (slot: number, version: number) => boolean) {
    this.#isValid = isValid;
  }

  /** `version` is the slot's as it is now: a later one makes this entry void. */
  add(slot: number, version: number, fee: number, size: number): void {
    if (this.#entries.length > Math.max(CLEAN_AT_LEAST, this.#cleaned * CLEAN_ABOVE)) this.#clean();
    this.#entries.push({ slot, version, fee, size });
    this.#up(this.#entries.length - 1);
  }

  /** The slot of the worst entry that is still valid, or -1. It stays in the heap. */
  worst(): number {
    for (let top = this.#entries[0]; top; top = this.#entries[0]) {
      if (this.#isValid(top.slot, top.version)) return top.slot;
      this.#removeTop();
    }
    return -1;
  }

  #clean(): void {
    this.#entries = this.#entries.filter(({ slot, version }) => this.#isValid(slot, version));
    this.#entries.sort(byFeerate);
    this.#cleaned = this.#entries.length;
  }

  #removeTop(): void {
    const last = this.#entries.pop()!;
    if (this.#entries.length === 0) return;
    this.#entries[0] = last;
    this.#down(0);
  }

  #up(start: number): void {
    const entries = this.#entries;
    const entry = entries[start]!;
    let at = start;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (byFeerate(entry, entries[above]!) >= 0) break;
      entries[at] = entries[above]!;
      at = above;
    }
    entries[at] = entry;
  }

  #down(start: number): void {
    const entries = this.#entries;
    const entry = entries[start]!;
    let at = start;
    for (;;) {
      let below = at * 2 + 1;
      if (below >= entries.length) break;
      if (below + 1 < entries.length && byFeerate(entries[below + 1]!, entries[below]!) < 0) below++;
      if (byFeerate(entries[below]!, entry) >= 0) break;
      entries[at] = entries[below]!;
      at = below;
    }
    entries[at] = entry;
  }
}

/** The lower feerate first; of the same, the later slot. */
function byFeerate(a: Entry, b: Entry): number {
  return compareFeerate(a.fee, a.size, b.fee, b.size) || b.slot - a.slot;
}
