import type { Chain } from '../chain/chain.ts';
import type { IndexProgress } from '../chain/chain-indexes.ts';
import type { CoinStatsJob, CoinStatsResult } from '../indexes/coin-stats-job.ts';
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

/** Indexes that a build completes. */
interface BuildTarget {
  progress(): readonly IndexProgress[];
  /** Carries out the next job on other threads. Resolves to false if there is none before the next commit. */
  runNext(): Promise<boolean>;
  /** Whether the build goes on with each commit after all rows are made. */
  readonly follows: boolean;
}

export interface BuildDeps {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
  /** Folder of the chain, for messages. */
  readonly dir: string;
  /** Called when the build stops, and with null when it goes on. */
  readonly onProblem: (problem: IndexProblem | null) => void;
  readonly retryMs?: number;
}

export interface IndexBuildDeps extends BuildDeps {
  /** Carries out one job at a time, on another thread in a node. */
  readonly runJob: (job: IndexJob) => Promise<IndexJobResult>;
}

export interface CoinStatsBuildDeps extends BuildDeps {
  /** Carries out one job at a time, on other threads in a node. */
  readonly runJob: (job: CoinStatsJob) => Promise<CoinStatsResult>;
  /** Called when the index covers the tip. */
  readonly onBuilt?: () => void;
}

/** Builds the missing rows of the chain's indexes until all of them are live or the signal aborts, as `build` does. */
export function buildIndexes(chain: Chain, deps: IndexBuildDeps): Promise<void> {
  const { indexes } = chain;
  const target: BuildTarget = {
    progress: () => indexes.progress(),
    follows: false,
    async runNext() {
      const planned = indexes.nextJob();
      if (planned === null) return false;
      const result = await deps.runJob(planned.job);
      if (isEnded(chain, deps.signal)) return true;
      indexes.finishJob(planned, result);
      await chain.mergesCaughtUp();
      return true;
    },
  };
  return build(chain, target, deps);
}

/** Computes the statistics of the UTXO set at each block until the signal aborts, as `build` does. */
export async function followCoinStats(chain: Chain, deps: CoinStatsBuildDeps): Promise<void> {
  const { coinStats } = chain;
  if (!coinStats.enabled) return;
  const target: BuildTarget = {
    progress: () => coinStats.progress(),
    follows: true,
    async runNext() {
      const planned = coinStats.nextJob();
      if (planned === null) return false;
      const result = await deps.runJob(planned.job);
      if (!isEnded(chain, deps.signal)) coinStats.finishJob(planned, result);
      if (coinStats.progress().every(({ live }) => live)) deps.onBuilt?.();
      return true;
    },
  };
  const onProblem = (problem: IndexProblem | null) => {
    coinStats.setFailed(problem !== null);
    deps.onProblem(problem);
  };
  await build(chain, target, { ...deps, onProblem });
}

/**
 * Builds the missing rows of indexes. Where the next block is not stored yet, it waits for further commits. An error is
 * logged and reported: the indexes stay at their height, and the node keeps running. The build is tried again a minute
 * after a failure of the disk, and otherwise by the next start.
 */
async function build(chain: Chain, target: BuildTarget, deps: BuildDeps): Promise<void> {
  const { signal, log, dir, onProblem, retryMs = RETRY_MS } = deps;
  for (;;) {
    try {
      await buildAll(chain, target, deps);
      return;
    } catch (error) {
      if (signal.aborted) return;
      const known = storageProblem(error, dir);
      const isDisk = known instanceof OperatorError;
      const advice = isDisk
        ? 'the build is tried again every minute'
        : 'stop the node and run obverse verify, which names the damage; obverse reindex --indexes builds the indexes again, obverse reindex everything';
      const message = error instanceof Error ? error.message : String(error);
      const heights = heightsOf(target);
      const indexes = Object.keys(heights);
      log.error('building indexes stopped', { indexes, heights, error, advice });
      onProblem({ indexes, problem: `${isDisk ? known.message : message}; ${advice}` });
      if (!isDisk) return;
    }
    await sleep(retryMs, signal).catch(() => {});
    if (isEnded(chain, signal)) return;
    onProblem(null);
  }
}

async function buildAll(chain: Chain, target: BuildTarget, { signal, clock, log }: BuildDeps): Promise<void> {
  const isBuilt = () => target.progress().every(({ live }) => live);
  // The build of an index that follows the chain is only reported until it has caught up.
  let isReported = !isBuilt();
  if (!isReported && !target.follows) return;
  if (isReported) log.info('building indexes in the background', { ...heightsOf(target), of: chain.tip.height });
  let loggedAt = clock.monotonicMs();
  while (!isEnded(chain, signal)) {
    if (isBuilt()) {
      if (isReported) log.info('indexes are built', { height: chain.tip.height });
      if (!target.follows) return;
      isReported = false;
      await nextCommit(chain, signal);
      continue;
    }
    if (!(await target.runNext())) {
      await nextCommit(chain, signal);
      continue;
    }
    if (isReported && clock.monotonicMs() - loggedAt >= LOG_INTERVAL_MS) {
      loggedAt = clock.monotonicMs();
      log.info('building indexes', { ...heightsOf(target), of: chain.tip.height });
    }
    await pause(chain.connecting ? PAUSE_IN_SYNC_MS : PAUSE_MS);
  }
}

/** Returns the heights of the indexes that are behind the tip. */
function heightsOf(target: BuildTarget): Record<string, number> {
  return Object.fromEntries(
    target
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
