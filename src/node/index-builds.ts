import type { Chain } from '../chain/chain.ts';
import type { Config } from '../config/settings.ts';
import { CoinStatsThreads } from '../indexes/coin-stats-threads.ts';
import { indexThread } from '../indexes/index-thread.ts';
import type { Clock } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import { buildFilters } from './filter-build.ts';
import { type BuildDeps, buildIndexes, followCoinStats, type IndexProblem } from './index-build.ts';

/** Statistics of the UTXO set take up to half as many threads as the verification of scripts, and at most this many. */
const MAX_COIN_STATS_THREADS = 8;

export interface IndexBuildsOptions {
  readonly chain: Chain;
  readonly config: Pick<Config, 'chainDir' | 'workers'>;
  /** Ends all builds. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when the indexes of transactions are built. */
  readonly onIndexesBuilt: () => void;
}

/** The background builds of indexes, with their threads. */
export class IndexBuilds {
  readonly #options: IndexBuildsOptions;
  readonly #indexJobs = indexThread();
  readonly #coinStatsJobs: CoinStatsThreads;
  #buildingIndexes = false;
  #buildingFilters = false;
  #indexProblem: IndexProblem | null = null;
  #coinStatsProblem: IndexProblem | null = null;

  constructor(options: IndexBuildsOptions) {
    this.#options = options;
    const threads = Math.floor(options.config.workers.verify / 2);
    this.#coinStatsJobs = new CoinStatsThreads(Math.min(MAX_COIN_STATS_THREADS, Math.max(1, threads)));
  }

  /** The reason why indexes are not built further; null while they are. */
  get problem(): IndexProblem | null {
    return this.#indexProblem ?? this.#coinStatsProblem;
  }

  /** Builds the missing block filters in the background. Resolves when none is missing, or the node stops. */
  async buildFilters(): Promise<void> {
    if (this.#buildingFilters) return;
    this.#buildingFilters = true;
    await buildFilters(this.#options.chain, this.#options);
    this.#buildingFilters = false;
  }

  /** Builds the missing rows of indexes in the background. Resolves when none is missing, or the node stops. */
  async buildIndexes(): Promise<void> {
    if (this.#buildingIndexes) return;
    this.#buildingIndexes = true;
    this.#indexProblem = null;
    await buildIndexes(this.#options.chain, {
      ...this.#deps,
      runJob: (job) => this.#indexJobs.runJob(job),
      onProblem: (problem) => void (this.#indexProblem = problem),
    });
    await this.#indexJobs.close();
    this.#buildingIndexes = false;
    if (!this.#options.signal.aborted) this.#options.onIndexesBuilt();
  }

  /** Keeps the statistics of the UTXO set up to the tip, if they are switched on. Resolves when the node stops. */
  async followCoinStats(): Promise<void> {
    await followCoinStats(this.#options.chain, {
      ...this.#deps,
      runJob: (job) => this.#coinStatsJobs.runJob(job),
      onBuilt: () => this.#coinStatsJobs.closeFurther(),
      onProblem: (problem) => void (this.#coinStatsProblem = problem),
    });
    await this.#coinStatsJobs.close();
  }

  /** Ends the threads. The next start removes what a running job has written. */
  async close(): Promise<void> {
    await Promise.all([this.#indexJobs.close(), this.#coinStatsJobs.close()]);
  }

  get #deps(): Omit<BuildDeps, 'onProblem'> {
    const { signal, clock, log, config } = this.#options;
    return { signal, clock, log, dir: config.chainDir };
  }
}
