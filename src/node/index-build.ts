import type { Chain } from '../chain/chain.ts';
import type { IndexJob, IndexJobResult } from '../indexes/index-job.ts';
import { sleep } from '../util/abort.ts';
import type { Clock } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import { OperatorError } from '../util/operator-error.ts';
import { storageProblem } from './storage-problem.ts';

/** Pauses between two jobs; the longer one during initial block download. */
const PAUSE_MS = 4;
const PAUSE_IN_SYNC_MS = 50;
const LOG_INTERVAL_MS = 10_000;
/** Time after which a build is tried again that a full or failing disk has interrupted, milliseconds. */
const RETRY_MS = 60_000;

/** The reason why indexes are not built further. */
export interface IndexProblem {
  readonly indexes: readonly string[];
  /** A sentence for the operator: the cause, and the remedy. */
  readonly problem: string;
}

export interface IndexBuildDeps {
  /** Carries out one job at a time, on another thread in a node. */
  readonly runJob: (job: IndexJob) => Promise<IndexJobResult>;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
  /** Folder of the chain, for messages. */
  readonly dir: string;
  /** Called when the build stops, and with null when it goes on. */
  readonly onProblem: (problem: IndexProblem | null) => void;
  readonly retryMs?: number;
}

/**
 * Builds the missing rows of the chain's indexes until all of them are live or the signal aborts. Where the next block is
 * not stored yet, it waits for further commits. An error is logged and reported: the indexes stay at their height, and the
 * node keeps running. The build is tried again a minute after a failure of the disk, and otherwise by the next start.
 */
export async function buildIndexes(chain: Chain, deps: IndexBuildDeps): Promise<void> {
  const { signal, log, dir, onProblem, retryMs = RETRY_MS } = deps;
  const names = () =>
    chain.indexes
      .progress()
      .filter(({ live }) => !live)
      .map(({ name }) => name);
  for (;;) {
    try {
      await buildAll(chain, deps);
      return;
    } catch (error) {
      if (signal.aborted) return;
      const known = storageProblem(error, dir);
      const isDisk = known instanceof OperatorError;
      const advice = isDisk
        ? 'the build is tried again every minute'
        : 'stop the node and run obverse verify, which names the damage; obverse reindex --indexes builds the indexes again, obverse reindex everything';
      const message = error instanceof Error ? error.message : String(error);
      log.error('building indexes stopped', { indexes: names(), heights: heightsOf(chain), error, advice });
      onProblem({ indexes: names(), problem: `${isDisk ? known.message : message}; ${advice}` });
      if (!isDisk) return;
    }
    await sleep(retryMs, signal).catch(() => {});
    if (isEnded(chain, signal)) return;
    onProblem(null);
  }
}

async function buildAll(chain: Chain, { runJob, signal, clock, log }: IndexBuildDeps): Promise<void> {
  const { indexes } = chain;
  const isBuilt = () => indexes.progress().every(({ live }) => live);
  if (isBuilt()) return;
  log.info('building indexes in the background', { ...heightsOf(chain), of: chain.tip.height });
  let loggedAt = clock.monotonicMs();
  while (!signal.aborted && chain.stopped === null) {
    if (isBuilt()) {
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
      log.info('building indexes', { ...heightsOf(chain), of: chain.tip.height });
    }
    await pause(chain.connecting ? PAUSE_IN_SYNC_MS : PAUSE_MS);
  }
}

/** Returns the heights of the indexes that are behind the tip. */
function heightsOf({ indexes }: Chain): Record<string, number> {
  return Object.fromEntries(
    indexes
      .progress()
      .filter(({ live }) => !live)
      .map(({ name, height }) => [name, height]),
  );
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
