import type { Counts } from '../../util/counts.ts';

/** A running scan of block filters. */
export interface FilterScan {
  readonly abort: AbortController;
}

const RUNNING = 'filter scan';
const PROGRESS = 'filter scan progress';
const HEIGHT = 'filter scan height';
const ABORTED = 'filter scan aborted';

/** The scans of block filters: at most one per server, as in Core. The counts hold its state for all fronts. */
export class FilterScans {
  readonly #counts: Counts;
  /** The scan of this front. */
  #own: FilterScan | null = null;

  constructor(counts: Counts) {
    this.#counts = counts;
  }

  /** Returns the new scan; null while another one runs. */
  start(height: number): FilterScan | null {
    if (!this.#counts.add(RUNNING, 1)) return null;
    // Another front may have aborted the scan before just when it ended.
    this.#counts.set(ABORTED, 0);
    this.#own = { abort: new AbortController() };
    this.report(0, height);
    return this.#own;
  }

  /** Reports the progress of the scan of this front in percent, and ends it where another front has aborted it. */
  report(progress: number, height: number): void {
    this.#counts.set(PROGRESS, progress);
    this.#counts.set(HEIGHT, height);
    if (this.#counts.get(ABORTED) > 0) this.#own?.abort.abort();
  }

  /** Returns the progress of the running scan, percent, and its height; null where none runs. */
  status(): { readonly progress: number; readonly height: number } | null {
    if (this.#counts.get(RUNNING) === 0) return null;
    return { progress: this.#counts.get(PROGRESS), height: this.#counts.get(HEIGHT) };
  }

  /** Aborts the running scan: that of this front at once, that of another one at its next step. */
  abort(): boolean {
    if (this.#counts.get(RUNNING) === 0) return false;
    if (this.#own) this.#own.abort.abort();
    else this.#counts.add(ABORTED, 1);
    return true;
  }

  /** Ends the scan of this front. */
  end(): void {
    this.#own = null;
    for (const name of [PROGRESS, HEIGHT, ABORTED]) this.#counts.set(name, 0);
    this.#counts.subtract(RUNNING);
  }
}
