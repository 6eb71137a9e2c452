import type { ImportProgress } from '../node/import-types.ts';
import { durationText } from '../util/duration.ts';
import { barLine, countText, percentText } from './bar.ts';

export interface Progress {
  update(at: ImportProgress): void;
  /** Prints the last state and ends the line. */
  finish(): void;
}

interface Terminal {
  readonly write: (text: string) => void;
  /** Width of the terminal in columns; null when the output is not a terminal. */
  readonly columns: () => number | null;
}

/** Interval between two lines where the output is not a terminal. */
const LINE_EVERY_MS = 10_000;
/** Length of the window that rates are averaged over. */
const RATE_WINDOW_MS = 15_000;
/** The parts to drop first where the line is too long. */
const DROP_ORDER = ['inputs/s', 'blocks/s', 'left', 'height'];

/** Returns a progress display on stderr, which a terminal redraws in place. */
export function openProgress(write: (text: string) => void): Progress {
  return progressOn({ write, columns: () => (process.stderr.isTTY ? process.stderr.columns || 80 : null) });
}

export function progressOn({ write, columns }: Terminal): Progress {
  const window: ImportProgress[] = [];
  let shown: ImportProgress | null = null;
  let redrawn = false;

  const show = (at: ImportProgress) => {
    shown = at;
    const width = columns();
    const line = progressLine(at, ratesOver(window), width);
    redrawn = width !== null;
    // Returns to the start of the line and erases the rest of a longer one.
    write(redrawn ? `\r${line}\x1b[K` : `${line}\n`);
  };

  return {
    update(at) {
      window.push(at);
      while (window.length > 2 && at.elapsedMs - window[1]!.elapsedMs >= RATE_WINDOW_MS) window.shift();
      if (columns() !== null || shown === null || at.elapsedMs - shown.elapsedMs >= LINE_EVERY_MS) show(at);
    },
    finish() {
      const last = window.at(-1);
      if (last && last !== shown) show(last);
      if (redrawn) write('\n');
    },
  };
}

interface Rates {
  readonly blocks: number;
  readonly inputs: number;
  readonly bytes: number;
}

/** Returns rates per second between the first and the last state of the window; null where no time has passed. */
function ratesOver(window: readonly ImportProgress[]): Rates | null {
  const last = window.at(-1)!;
  // A single state is compared with the start of the run.
  const first = window.length > 1 ? window[0]! : { blocks: 0, inputs: 0, bytes: 0, elapsedMs: 0 };
  const seconds = (last.elapsedMs - first.elapsedMs) / 1000;
  if (seconds <= 0) return null;
  return {
    blocks: (last.blocks - first.blocks) / seconds,
    inputs: (last.inputs - first.inputs) / seconds,
    bytes: (last.bytes - first.bytes) / seconds,
  };
}

/** Returns one line that fits `width`; the least important parts are dropped first. */
export function progressLine(at: ImportProgress, rates: Rates | null, width: number | null): string {
  const share = at.totalBytes > 0 ? Math.min(1, at.bytes / at.totalBytes) : 0;
  const parts = [percentText(share), `height ${countText(at.height)}`];
  if (rates) {
    parts.push(`${countText(rates.blocks)} blocks/s`, `${countText(rates.inputs)} inputs/s`);
    const left = at.totalBytes - at.bytes;
    if (left > 0 && rates.bytes > 0) parts.push(`${durationText(left / rates.bytes)} left`);
  }
  return width === null ? parts.join('  ').trimStart() : barLine(share, parts, DROP_ORDER, width);
}
