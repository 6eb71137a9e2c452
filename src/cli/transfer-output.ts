import type { TransferProgress } from '../node/snapshot/snapshot-progress.ts';
import { durationText } from '../util/duration.ts';
import { barLine, percentText } from './bar.ts';
import { displayOn, type Progress, stderrTerminal } from './progress-output.ts';
import { bytesText } from './status-screen.ts';

/** The parts to drop first where the line is too long. */
const DROP_ORDER = ['/s', ' of ', 'left'];

/** Returns a display of a transfer on stderr, which a terminal redraws in place. */
export function openTransferProgress(write: (text: string) => void): Progress<TransferProgress> {
  return displayOn(stderrTerminal(write), transferLine);
}

/** Returns one line that fits `width`; the rate is that of the window, whose last state is shown. */
export function transferLine(window: readonly TransferProgress[], width: number | null): string {
  const at = window.at(-1)!;
  const first = window.length > 1 ? window[0]! : { bytes: 0, elapsedMs: 0 };
  const seconds = (at.elapsedMs - first.elapsedMs) / 1000;
  const rate = seconds > 0 ? (at.bytes - first.bytes) / seconds : 0;
  const share = at.totalBytes > 0 ? Math.min(1, at.bytes / at.totalBytes) : 1;
  const parts = [percentText(share), `${bytesText(at.bytes)} of ${bytesText(at.totalBytes)}`];
  const left = at.totalBytes - at.bytes;
  if (rate > 0) {
    parts.push(`${bytesText(rate)}/s`);
    if (left > 0) parts.push(`${durationText(left / rate)} left`);
  }
  return width === null ? parts.join('  ').trimStart() : barLine(share, parts, DROP_ORDER, width);
}
