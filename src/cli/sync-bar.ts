import type { SyncDisplay, SyncProgress } from '../node/sync-report.ts';
import { durationText } from '../util/duration.ts';
import type { LogFormat } from '../util/log.ts';
import { barLine, countText, percentText } from './bar.ts';

/** The parts to drop first where the line is too long. */
const DROP_ORDER = ['peer', '/s', 'left', 'height'];

/** A terminal that shows progress. */
export interface Screen {
  readonly write: (text: string) => void;
  readonly columns: () => number;
  /** Whether log lines are written to the same terminal. */
  readonly isInLog: boolean;
}

/** Returns the terminal to show progress on; null where there is none, and where it shows a JSON log. */
export function syncScreen(
  { out, err }: { readonly out: (text: string) => void; readonly err: (text: string) => void },
  logFormat: LogFormat | 'auto',
): Screen | null {
  const { stdout, stderr } = process;
  if (stderr.isTTY)
    return logFormat === 'json' ? null : { write: err, columns: () => stderr.columns || 80, isInLog: true };
  return stdout.isTTY ? { write: out, columns: () => stdout.columns || 80, isInLog: false } : null;
}

/** Returns a display of one line that is redrawn in place. Log lines overwrite it, and it appears again below them. */
export function syncBar({ write, columns, isInLog }: Screen): SyncDisplay {
  let isShown = false;
  return {
    isInLog,
    show(progress) {
      if (progress === null) {
        if (isShown) write('\r\x1b[K');
        isShown = false;
        return;
      }
      isShown = true;
      write(`\r${syncLine(progress, columns())}\x1b[K\r`);
    },
  };
}

/** Returns one line that fits `width`. */
export function syncLine(at: SyncProgress, width: number): string {
  const { phase, share, height, headers, perSecond, secondsLeft, peers } = at;
  const parts = [percentText(share)];
  if (phase === 'blocks') parts.push(`height ${countText(height)} of ${countText(headers)}`);
  else parts.push(phase === 'presync' ? `headers, first pass: ${countText(height)}` : `headers ${countText(height)}`);
  if (perSecond !== null) parts.push(`${countText(perSecond)}/s`);
  if (secondsLeft !== null) parts.push(`${durationText(secondsLeft)} left`);
  parts.push(`${peers} peer${peers === 1 ? '' : 's'}`);
  return barLine(share, parts, DROP_ORDER, width);
}
