import { rmSync } from 'node:fs';
import type { Clock } from '../../util/clock.ts';

/** A file that left the list is kept for readers that saw the list before and are about to open it. */
const REMOVAL_DELAY_MS = 60_000;

/** Files of runs that left the list. */
export class DroppedFiles {
  readonly #clock: Clock;
  /** Files that left the list, with the monotonic time of that. */
  #dropped: { readonly path: string; readonly at: number }[] = [];
  /** Removes dropped files; null without any. */
  #removal: ReturnType<typeof setTimeout> | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Adds a file, which is removed a minute later, whether commits follow or not. */
  addFile(path: string): void {
    this.#dropped.push({ path, at: this.#clock.monotonicMs() });
    this.#scheduleRemoval();
  }

  /** Removes the files that left the list a minute ago. */
  removeDue(): void {
    const now = this.#clock.monotonicMs();
    while (this.#dropped.length > 0 && now - this.#dropped[0]!.at >= REMOVAL_DELAY_MS) {
      const { path } = this.#dropped.shift()!;
      try {
        rmSync(path, { force: true });
      } catch {
        // The next start removes it.
      }
    }
  }

  /** Ends the removal. The next start removes the files that are left. */
  close(): void {
    if (this.#removal !== null) clearTimeout(this.#removal);
    this.#removal = null;
  }

  #scheduleRemoval(): void {
    const [oldest] = this.#dropped;
    if (oldest === undefined || this.#removal !== null) return;
    const remaining = Math.max(1, REMOVAL_DELAY_MS - (this.#clock.monotonicMs() - oldest.at));
    this.#removal = setTimeout(() => {
      this.#removal = null;
      this.removeDue();
      this.#scheduleRemoval();
    }, remaining);
    this.#removal.unref();
  }
}
