import type { ImportProgress } from '../node/import-types.ts';
import { durationText } from '../util/duration.ts';
import { barLine, countText, percentText } from './bar.ts';

/** A display of states of one kind. */
export interface Progress<T> {
  update(at: T): void;
  /** Prints the last state and ends the line. */
  finish(): void;
}

/** The output of a progress display. */
export interface ProgressTerminal {
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

/** Returns a display of an import on stderr, which a terminal redraws in place. */
export function openProgress(write: (text: string) => void): Progress<ImportProgress> {
  return progressOn(stderrTerminal(write));
}

export function progressOn(terminal: ProgressTerminal): Progress<ImportProgress> {
  return displayOn(terminal, (window, width) => progressLine(window.at(-1)!, ratesOver(window), width));
}

/** Returns the terminal of stderr, to which `write` writes. */
export function stderrTerminal(write: (text: string) => void): ProgressTerminal {
  return { write, columns: () => (process.stderr.isTTY ? process.stderr.columns || 80 : null) };
}

/** Returns a display. `lineOf` gets the states of the last seconds, the newest at the end, and the width of the line. */
export function displayOn<T extends { readonly elapsedMs: number }>(
  { write, columns }: ProgressTerminal,
  lineOf: (window: readonly T[], width: number | null) => string,
): Progress<T> {
  const window: T[] = [];
  let shown: T | null = null;
  let redrawn = false;

  const show = (at: T) => {
    shown = at;
    const width = columns();
    const line = lineOf(window, width);
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
