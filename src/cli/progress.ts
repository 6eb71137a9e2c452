import type { ImportProgress } from '../node/import-types.ts';

export interface Progress {
  update(at: ImportProgress): void;
  /** Shows the last state and leaves the line. */
  finish(): void;
}

interface Terminal {
  readonly write: (text: string) => void;
  /** Width of the terminal; null when it is none. */
  readonly columns: () => number | null;
}

/** Between two plain lines, where nothing can be redrawn. */
const LINE_EVERY_MS = 10_000;
/** Rates are those of about this long. */
const RATE_WINDOW_MS = 15_000;
const LONGEST_BAR = 30;
const SHORTEST_BAR = 8;

/** Progress on stderr, redrawn in place on a terminal. */
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
    // Back to the start of the line, and erase what a longer one left.
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

/** Per second, between the first and the last state. */
function ratesOver(window: readonly ImportProgress[]): Rates | null {
  const last = window.at(-1)!;
  // One state alone is compared with the start of the run.
  const first = window.length > 1 ? window[0]! : { blocks: 0, inputs: 0, bytes: 0, elapsedMs: 0 };
  const seconds = (last.elapsedMs - first.elapsedMs) / 1000;
  if (seconds <= 0) return null;
  return {
    blocks: (last.blocks - first.blocks) / seconds,
    inputs: (last.inputs - first.inputs) / seconds,
    bytes: (last.bytes - first.bytes) / seconds,
  };
}

/** One line that fits `width`; what matters least goes first when it does not. */
export function progressLine(at: ImportProgress, rates: Rates | null, width: number | null): string {
  const share = at.totalBytes > 0 ? Math.min(1, at.bytes / at.totalBytes) : 0;
  // Rounded down, so that 100 % means done.
  const percent = `${Math.floor(share * 100)}%`.padStart(4);
  const parts = [percent, `height ${count(at.height)}`];
  if (rates) {
    parts.push(`${count(rates.blocks)} blocks/s`, `${count(rates.inputs)} inputs/s`);
    const left = at.totalBytes - at.bytes;
    if (left > 0 && rates.bytes > 0) parts.push(`${duration(left / rates.bytes)} left`);
  }
  if (width === null) return parts.join('  ').trimStart();
  // The last column stays free: writing it would wrap on some terminals.
  const room = width - 1;
  const dropOrder = ['inputs/s', 'blocks/s', 'left', 'height'];
  while (parts.join('  ').length > room && dropOrder.length > 0) {
    const word = dropOrder.shift()!;
    const index = parts.findIndex((part) => part.includes(word));
    if (index >= 0) parts.splice(index, 1);
  }
  const text = parts.join('  ');
  const barRoom = Math.min(LONGEST_BAR, room - text.length - 3);
  if (barRoom < SHORTEST_BAR) return text.slice(0, Math.max(0, room));
  const filled = Math.floor(share * barRoom);
  return `[${'#'.repeat(filled)}${'.'.repeat(barRoom - filled)}] ${text}`;
}

function count(value: number): string {
  return Math.round(value).toLocaleString('en');
}

/** `45s`, `3m 20s`, `2h 05m`, `3d 04h` */
export function duration(seconds: number): string {
  const s = Math.ceil(seconds);
  const two = (n: number) => String(n).padStart(2, '0');
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m ${two(s % 60)}s`;
  if (s < 86_400) return `${Math.floor(s / 3600)}h ${two(Math.floor((s % 3600) / 60))}m`;
  return `${Math.floor(s / 86_400)}d ${two(Math.floor((s % 86_400) / 3600))}h`;
}
