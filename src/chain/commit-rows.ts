import type { BuildJob, RunsBuilder } from '../storage/runs/build-runs.ts';
import { IMAGE_LIMIT } from '../storage/runs/merge-runs.ts';
import type { RunBatch } from '../storage/runs/run-batch.ts';
import type { RunStore, UnlistedRun } from '../storage/runs/run-store.ts';
import { assert } from '../util/assert.ts';
import type { Log } from '../util/log.ts';
import type { ChainIndexes } from './chain-indexes.ts';
import type { SealedChange } from './connect-block.ts';

export interface CommitRowsDeps {
  readonly dir: string;
  readonly runs: RunStore;
  readonly indexes: ChainIndexes;
  /** Builds runs on another thread; null builds all within the commit. */
  readonly build: RunsBuilder | null;
  readonly log: Log;
}

/** The runs of a sealed change that are built before its commit. */
interface AheadRuns {
  readonly chain: SealedChange;
  /** The indexes whose rows the runs hold. */
  readonly live: string;
  /** Small batches, which the commit builds itself. */
  readonly small: readonly RunBatch[];
  /** Resolves when `ended` is set. */
  readonly done: Promise<void>;
  /** Null while they are being built, and if they cannot be built. */
  built: readonly UnlistedRun[] | null;
  ended: boolean;
}

/**
 * Stages the runs of commits. `buildAhead` builds the large ones of a sealed change on another thread while blocks go on
 * being connected. At most one change is built at a time, since the next one is sealed after the commit.
 */
export class CommitRows {
  readonly #deps: CommitRowsDeps;
  #ahead: AheadRuns | null = null;

  constructor(deps: CommitRowsDeps) {
    this.#deps = deps;
  }

  /** Whether no runs are being built. */
  get isIdle(): boolean {
    return this.#ahead === null || this.#ahead.ended;
  }

  /** Resolves when no runs are being built. Never rejects. */
  async whenIdle(): Promise<void> {
    await this.#ahead?.done;
  }

  /** Begins to build the runs of a sealed change. Its commit stages them, or `discardAhead` removes them. */
  buildAhead(chain: SealedChange): void {
    const { dir, runs, indexes, build, log } = this.#deps;
    if (build === null) return;
    const batches = [chain.coins, ...indexes.batches(chain)];
    const large = batches
      .filter(({ bytes }) => bytes > IMAGE_LIMIT)
      .map((batch) => ({ id: runs.reserveId(), batch: batch.shared }));
    const job: BuildJob = { chainDir: dir, batches: large };
    const building = large.length === 0 ? Promise.resolve([]) : build(job);
    const ahead: AheadRuns = {
      chain,
      live: indexes.liveNames,
      small: batches.filter(({ bytes }) => bytes <= IMAGE_LIMIT),
      done: building.then(
        (built) => {
          ahead.built = built.map((run, i) => ({ family: large[i]!.batch.family, id: large[i]!.id, run }));
          ahead.ended = true;
        },
        (error: unknown) => {
          // The commit builds them itself then, and fails if the disk does.
          log.warn('the runs of a commit could not be built ahead', { error });
          ahead.ended = true;
        },
      ),
      built: null,
      ended: false,
    };
    this.#ahead = ahead;
  }

  /** Removes the runs that were built for a sealed change that is not committed. No build may be running. */
  discardAhead(): void {
    for (const run of this.#ahead?.built ?? []) this.#deps.runs.removeUnlisted(run);
    this.#ahead = null;
  }

  /** Stages the runs of a commit: those that were built ahead, and the others, which it builds. */
  stageRuns(chain: SealedChange): void {
    const { runs, indexes } = this.#deps;
    const ahead = this.#ahead;
    // The thread reads the batches that the indexes would fill again.
    assert(this.isIdle, 'no runs are being built');
    // An index that became live since then needs rows too.
    if (ahead === null || ahead.built === null || ahead.chain !== chain || ahead.live !== indexes.liveNames) {
      this.discardAhead();
      runs.stageBatches([chain.coins, ...indexes.batches(chain)]);
      return;
    }
    // The small ones have no files, so the folder is synced once.
    runs.stageBatches(ahead.small);
    this.#ahead = null;
    runs.stageBuilt(ahead.built);
  }
}
