import type { Chain } from '../chain/chain.ts';
import type { Clock } from '../util/clock.ts';
import type { Log } from '../util/log.ts';

/** So long at a stretch, or for one block, then others have their turn for a while; a chain that syncs has it for longer. */
const TURN_MS = 8;
const PAUSE_MS = 4;
const PAUSE_IN_SYNC_MS = 50;
const LOG_INTERVAL_MS = 10_000;

/**
 * Builds the block filters that are missing of the chain, in short turns, and ends when there are all, or when the signal
 * aborts. What fails is logged: the index then stays where it is until the next start, and the node goes on.
 */
export async function buildFilters(
  chain: Chain,
  { signal, clock, log }: { signal: AbortSignal; clock: Clock; log: Log },
): Promise<void> {
  const { filters } = chain;
  if (filters === null) return;
  if (filters.lost) log.warn('files of block filters are missing: all filters are built anew');
  if (filters.live) return;
  log.info('block filters are being built', { height: filters.height, of: chain.tip.height });
  let loggedAt = clock.monotonicMs();
  try {
    while (!signal.aborted && chain.stopped === null) {
      if (filters.buildMissing(TURN_MS, clock)) {
        log.info('block filters are built', { height: filters.height });
        return;
      }
      if (clock.monotonicMs() - loggedAt >= LOG_INTERVAL_MS) {
        loggedAt = clock.monotonicMs();
        const percent = Math.floor((filters.height / chain.tip.height) * 100);
        log.info('building block filters', { height: filters.height, of: chain.tip.height, percent });
      }
      await pause(chain.connecting ? PAUSE_IN_SYNC_MS : PAUSE_MS);
    }
  } catch (error) {
    log.error('block filters are built no further', { height: filters.height, error });
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
