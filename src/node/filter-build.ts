import type { Chain } from '../chain/chain.ts';
import type { Clock } from '../util/clock.ts';
import type { Log } from '../util/log.ts';

/**
 * The build runs for SLICE_MS (at least one block), then pauses for PAUSE_MS, or for PAUSE_IN_SYNC_MS during initial
 * block download.
 */
const SLICE_MS = 8;
const PAUSE_MS = 4;
const PAUSE_IN_SYNC_MS = 50;
const PAUSE_WAITING_MS = 1000;
const LOG_INTERVAL_MS = 10_000;

/**
 * Builds the missing block filters of the chain in slices. It ends when none is missing or the signal aborts. An error
 * is logged: the index then stays at its height until the next start, and the node keeps running.
 */
export async function buildFilters(
  chain: Chain,
  { signal, clock, log }: { signal: AbortSignal; clock: Clock; log: Log },
): Promise<void> {
  const { filters } = chain;
  if (filters === null) return;
  if (filters.lost) log.warn('files of block filters are missing: all filters are rebuilt');
  if (filters.live) return;
  log.info('building block filters in the background', { height: filters.height, of: chain.tip.height });
  let loggedAt = clock.monotonicMs();
  try {
    while (!signal.aborted && chain.stopped === null) {
      if (filters.buildMissing(SLICE_MS, clock)) {
        log.info('block filters are built', { height: filters.height });
        return;
      }
      if (clock.monotonicMs() - loggedAt >= LOG_INTERVAL_MS) {
        loggedAt = clock.monotonicMs();
        const percent = Math.floor((filters.height / chain.tip.height) * 100);
        log.info('building block filters', { height: filters.height, of: chain.tip.height, percent });
      }
      await pause(filters.waits ? PAUSE_WAITING_MS : chain.connecting ? PAUSE_IN_SYNC_MS : PAUSE_MS);
    }
  } catch (error) {
    log.error('building block filters stopped', { height: filters.height, error });
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
