import type { RunCursor } from './run-cursor.ts';
import { compareKeys } from './run-format.ts';
import type { PageEntry } from './run-page.ts';

/**
 * Walks through several runs at once, in the order of their keys, and leaves for each key what remains when additions
 * and later removals cancel: nothing, an addition, a removal of what lies in an older run, or both.
 */
export class MergeScan {
  /** Bytes with the current key, which begins at `keyAt`. */
  keys: Uint8Array;
  keyAt = 0;
  /** The remaining entries of the current key, oldest first; valid until the next step. */
  readonly entries: PageEntry[] = [];
  readonly #keySize: number;
  /** The key that several entries have. */
  readonly #gathered: Uint8Array;
  readonly #descending: boolean;
  #cursors: RunCursor[];
  /** The cursor that moves at the next step, when a single one had the current key. */
  #pending: RunCursor | null = null;

  /** `cursors` belong to one family, the oldest run first, and are at their first entries. */
  constructor(cursors: readonly RunCursor[], descending = false) {
    this.#descending = descending;
    this.#cursors = cursors.filter((cursor) => cursor.valid);
    this.#keySize = cursors[0]?.run.family.keySize ?? 0;
    this.#gathered = new Uint8Array(this.#keySize);
    this.keys = this.#gathered;
  }

  /** Moves to the next key of which something remains. Returns false at the end. */
  next(): boolean {
    for (;;) {
      this.#movePending();
      const cursors = this.#cursors;
      if (cursors.length === 0) return false;
      let least = cursors[0]!;
      let shared = false;
      for (let i = 1; i < cursors.length; i++) {
        const cursor = cursors[i]!;
        const order = compareKeys(cursor.keys, cursor.keyAt, least.keys, least.keyAt, this.#keySize);
        if (order === 0) shared = true;
        else if (this.#descending ? order > 0 : order < 0) {
          least = cursor;
          shared = false;
        }
      }
      this.entries.length = 0;
      if (!shared && !this.#repeats(least)) {
        this.keys = least.keys;
        this.keyAt = least.keyAt;
        this.entries.push(least);
        this.#pending = least;
        return true;
      }
      this.#gather(least);
      if (this.entries.length > 0) return true;
    }
  }

  #movePending(): void {
    const cursor = this.#pending;
    if (cursor === null) return;
    this.#pending = null;
    this.#move(cursor);
    if (!cursor.valid) this.#cursors = this.#cursors.filter((other) => other !== cursor);
  }

  #move(cursor: RunCursor): void {
    if (this.#descending) cursor.previous();
    else cursor.next();
  }

  #repeats(cursor: RunCursor): boolean {
    return this.#descending ? cursor.repeatsBefore : cursor.repeats;
  }

  /** Collects what remains of the key of `least` in all runs, and moves past it. */
  #gather(least: RunCursor): void {
    const key = this.#gathered;
    for (let i = 0; i < this.#keySize; i++) key[i] = least.keys[least.keyAt + i]!;
    for (const cursor of this.#cursors) {
      const own: PageEntry[] = [];
      while (cursor.valid && compareKeys(cursor.keys, cursor.keyAt, key, 0, this.#keySize) === 0) {
        const { removed, bytes, from, to } = cursor;
        if (this.#descending) own.unshift({ removed, bytes, from, to });
        else own.push({ removed, bytes, from, to });
        this.#move(cursor);
      }
      for (const entry of own) pushEntry(this.entries, entry);
    }
    this.#cursors = this.#cursors.filter((cursor) => cursor.valid);
    this.keys = key;
    this.keyAt = 0;
  }
}

/** Appends a later entry of the same key: additions and removals that follow each other cancel. */
export function pushEntry(entries: PageEntry[], entry: PageEntry): void {
  const last = entries.at(-1);
  if (last !== undefined && last.removed !== entry.removed) {
    // An addition and its removal leave nothing; neither does a removal of an entry that is then added unchanged.
    if (entry.removed || equalValues(last, entry)) {
      entries.pop();
      return;
    }
  }
  entries.push(entry);
}

function equalValues(a: PageEntry, b: PageEntry): boolean {
  const size = a.to - a.from;
  return size === b.to - b.from && compareKeys(a.bytes, a.from, b.bytes, b.from, size) === 0;
}
