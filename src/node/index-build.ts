import type { Chain } from '../chain/chain.ts';
import type { IndexJob, IndexJobResult } from '../indexes/index-job.ts';
import type { Clock } from '../util/clock.ts';
import type { Log } from '../util/log.ts';

/** Pauses between two jobs; the longer one during initial block download. */
const PAUSE_MS = 4;
const PAUSE_IN_SYNC_MS = 50;
const LOG_INTERVAL_MS = 10_000;

export interface IndexBuildDeps {
  /** Carries out one job at a time, on another thread in a node. */
  readonly runJob: (job: IndexJob) => Promise<IndexJobResult>;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Builds the missing rows of the chain's indexes until all of them are live or the signal aborts. Where the next block is
 * not stored yet, it waits for further commits. An error is logged: the indexes then stay at their height until the next
 * start, and the node keeps running.
 */
export async function buildIndexes(chain: Chain, { runJob, signal, clock, log }: IndexBuildDeps): Promise<void> {
  const { indexes } = chain;
  const lagging = () => indexes.progress().filter(({ live }) => !live);
  const heights = () => Object.fromEntries(lagging().map(({ name, height }) => [name, height]));
  if (lagging().length === 0) return;
  log.info('building indexes in the background', { ...heights(), of: chain.tip.height });
  let loggedAt = clock.monotonicMs();
  try {
    while (!signal.aborted && chain.stopped === null) {
      if (lagging().length === 0) {
        log.info('indexes are built', { height: chain.tip.height });
        return;
      }
      const planned = indexes.nextJob();
      if (planned === null) {
        await nextCommit(chain, signal);
        continue;
      }
      const result = await runJob(planned.job);
      if (isEnded(chain, signal)) return;
      indexes.finishJob(planned, result);
      await chain.mergesCaughtUp();
      if (clock.monotonicMs() - loggedAt >= LOG_INTERVAL_MS) {
        loggedAt = clock.monotonicMs();
        log.info('building indexes', { ...heights(), of: chain.tip.height });
      }
      await pause(chain.connecting ? PAUSE_IN_SYNC_MS : PAUSE_MS);
    }
  } catch (error) {
    if (!signal.aborted) log.error('building indexes stopped', { ...heights(), error });
  }
}

/** Read anew after each wait. */
function isEnded(chain: Chain, signal: AbortSignal): boolean {
  return signal.aborted || chain.stopped !== null;
}

/** Resolves after the next commit, or when the signal aborts. */
function nextCommit(chain: Chain, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      unsubscribe();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const unsubscribe = chain.onCommit(end);
    signal.addEventListener('abort', end, { once: true });
  });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
