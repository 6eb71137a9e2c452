import type { Log } from '../util/log.ts';
import type { ImportProgress } from './import-types.ts';

const INTERVAL_MS = 10_000;

/** Returns a function that logs import progress at a bounded rate. */
export function openProgressLog(log: Log): (progress: ImportProgress) => void {
  let loggedAt = 0;
  return ({ height, blocks, inputs, bytes, totalBytes, elapsedMs }) => {
    if (elapsedMs - loggedAt < INTERVAL_MS) return;
    loggedAt = elapsedMs;
    const seconds = elapsedMs / 1000;
    log.info('importing', {
      height,
      percent: Math.floor((bytes / Math.max(totalBytes, 1)) * 100),
      blocksPerSecond: Math.round(blocks / seconds),
      inputsPerSecond: Math.round(inputs / seconds),
    });
  };
}
