import type { ProgressCounter } from './progress.ts';

/** Purposes of threads. */
const THREAD_KINDS = [
  'node',
  'verify',
  'reader',
  'watches',
  'webhooks',
  'audit',
  'merge',
  'index',
  'coinstats',
  'build',
  'front',
  'sink',
] as const;
export type ThreadKind = (typeof THREAD_KINDS)[number];

/** Capacity of the table; threads beyond it are not watched. */
const SLOTS = 128;
// Fields of a slot.
const KIND = 0;
const PROGRESS = 1;
const STALL_MS = 2;
const FIELDS = 3;

/** A running thread, as the watchdog sees it. */
export interface ThreadView {
  readonly slot: number;
  /** Its kind, with a number if there may be several of that kind. */
  readonly name: string;
  /** Progress counter, which wraps. */
  readonly progress: number;
  /** Longest delay of its timers since it started, milliseconds. */
  readonly longestStallMs: number;
}

/** The threads of the process, in shared memory: each counts its own progress, and the main thread reads. */
export class ThreadTable {
  readonly shared: SharedArrayBuffer;
  readonly #fields: Int32Array;

  constructor(shared = new SharedArrayBuffer(SLOTS * FIELDS * 4)) {
    this.shared = shared;
    this.#fields = new Int32Array(shared);
  }

  /** Claims a slot for a new thread; -1 if none is free. */
  claim(kind: ThreadKind): number {
    for (let slot = 0; slot < SLOTS; slot++) {
      const at = slot * FIELDS;
      if (Atomics.compareExchange(this.#fields, at + KIND, 0, THREAD_KINDS.indexOf(kind) + 1) !== 0) continue;
      Atomics.store(this.#fields, at + PROGRESS, 0);
      Atomics.store(this.#fields, at + STALL_MS, 0);
      return slot;
    }
    return -1;
  }

  /** Frees the slot of a thread that has ended. */
  release(slot: number): void {
    if (slot >= 0) Atomics.store(this.#fields, slot * FIELDS + KIND, 0);
  }

  /** Returns the counter for the thread of a slot. */
  counter(slot: number): ProgressCounter {
    const at = slot * FIELDS;
    return {
      add: () => void Atomics.add(this.#fields, at + PROGRESS, 1),
      noteStall: (ms) => {
        if (ms > Atomics.load(this.#fields, at + STALL_MS)) Atomics.store(this.#fields, at + STALL_MS, Math.round(ms));
      },
    };
  }

  /** Returns all running threads. */
  views(): ThreadView[] {
    const counts = new Map<ThreadKind, number>();
    const views: ThreadView[] = [];
    for (let slot = 0; slot < SLOTS; slot++) {
      const at = slot * FIELDS;
      const kind = THREAD_KINDS[Atomics.load(this.#fields, at + KIND) - 1];
      if (kind === undefined) continue;
      const number = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, number);
      views.push({
        slot,
        name: kind === 'node' ? kind : `${kind}-${number}`,
        progress: Atomics.load(this.#fields, at + PROGRESS),
        longestStallMs: Atomics.load(this.#fields, at + STALL_MS),
      });
    }
    return views;
  }
}
