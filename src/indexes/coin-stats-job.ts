import { type MuHashChange, type MuHashValue, muhashDigest, muhashValues } from '../crypto/muhash.ts';
import type { CoinStats } from '../storage/coin-stats-store.ts';
import { type CoinChanges, coinChanges } from './coin-changes.ts';
import { readStoredBlocks, type StoredBlock } from './job-block-reader.ts';

/** Blocks whose statistics are computed, or that are removed from the value of the MuHash. */
export interface CoinStatsJob {
  readonly chainDir: string;
  /** Whether the blocks have left the chain; the highest comes first then, and the lowest otherwise. */
  readonly removed: boolean;
  readonly blocks: readonly StoredBlock[];
  readonly halvingInterval: number;
  /** Value of the MuHash before the job. */
  readonly value: MuHashValue;
  /** Statistics at the block before the first one; null for the genesis block and where blocks are removed. */
  readonly before: CoinStats | null;
}

export interface CoinStatsResult {
  /** Statistics at each of the blocks; empty if they are removed. */
  readonly rows: readonly CoinStats[];
  /** Value of the MuHash after the job, and its digest. */
  readonly value: MuHashValue;
  readonly digest: Uint8Array;
}

/** A part of a job that a thread carries out: the changes of some blocks, or the statistics that follow from all changes. */
export type CoinStatsTask =
  | ({ readonly kind: 'changes' } & Pick<CoinStatsJob, 'chainDir' | 'blocks' | 'halvingInterval'>)
  | ({ readonly kind: 'stats'; readonly changes: readonly CoinChanges[] } & Pick<
      CoinStatsJob,
      'value' | 'before' | 'removed'
    >);

export type CoinStatsTaskResult =
  | { readonly kind: 'changes'; readonly changes: readonly CoinChanges[] }
  | ({ readonly kind: 'stats' } & CoinStatsResult);

/** Carries out a task on one thread. */
export type CoinStatsRunner = (task: CoinStatsTask) => Promise<CoinStatsTaskResult>;

/** Carries out a task. Calls `onProgress` now and then. Throws if a block cannot be read. */
export function runCoinStatsTask(task: CoinStatsTask, onProgress: () => void = () => {}): CoinStatsTaskResult {
  if (task.kind === 'stats') return { kind: 'stats', ...statsAfter(task) };
  const { chainDir, blocks, halvingInterval } = task;
  const changes: CoinChanges[] = [];
  for (const { stored, block, undo } of readStoredBlocks(chainDir, blocks, onProgress))
    changes.push(coinChanges(block, undo, { height: stored.height, halvingInterval, onProgress }));
  return { kind: 'changes', changes };
}

/**
 * Carries out a job. The changes of its blocks do not depend on each other, and are computed on all threads; the rest takes
 * microseconds for each block.
 */
export async function runCoinStatsJob(
  job: CoinStatsJob,
  threads: readonly CoinStatsRunner[],
): Promise<CoinStatsResult> {
  const { chainDir, halvingInterval, value, before, removed } = job;
  const parts = splitBySize(job.blocks, threads.length);
  const tasks = parts.map((blocks, i) => threads[i]!({ kind: 'changes', chainDir, blocks, halvingInterval }));
  // All threads are idle again before an error is reported.
  await Promise.allSettled(tasks);
  const changes = (await Promise.all(tasks)).flatMap((result) => (result.kind === 'changes' ? result.changes : []));
  const result = await threads[0]!({ kind: 'stats', changes, value, before, removed });
  if (result.kind !== 'stats') throw new Error('a thread has returned the result of another task');
  return result;
}

/** Splits blocks into at most `count` lists of about the same size, in their order. */
function splitBySize(blocks: readonly StoredBlock[], count: number): StoredBlock[][] {
  const total = blocks.reduce((sum, { body }) => sum + body.size, 0);
  const parts: StoredBlock[][] = [];
  let bytes = 0;
  for (const block of blocks) {
    const part = Math.min(count - 1, Math.floor((bytes / total) * count));
    (parts[part] ??= []).push(block);
    bytes += block.body.size;
  }
  return parts.filter((part) => part.length > 0);
}

function statsAfter({ changes, value, before, removed }: Extract<CoinStatsTask, { kind: 'stats' }>): CoinStatsResult {
  const values = muhashValues(
    value,
    changes.map(({ muhash }) => (removed ? reversed(muhash) : muhash)),
  );
  const last = values.at(-1)!;
  if (removed) return { rows: [], value: last, digest: muhashDigest(last) };
  let previous: Pick<CoinStats, 'txouts' | 'bogosize' | 'totalAmount' | 'totalUnspendable'> = before ?? EMPTY_SET;
  const rows = changes.map((change, i) => {
    const { genesis, bip30, scripts, unclaimed } = change.amounts;
    const stats: CoinStats = {
      ...change.amounts,
      muhash: muhashDigest(values[i]!),
      txouts: previous.txouts + change.txouts,
      bogosize: previous.bogosize + change.bogosize,
      totalAmount: previous.totalAmount + change.value,
      totalUnspendable: previous.totalUnspendable + genesis + bip30 + scripts + unclaimed,
    };
    previous = stats;
    return stats;
  });
  return { rows, value: last, digest: rows.at(-1)!.muhash };
}

const EMPTY_SET = { txouts: 0, bogosize: 0, totalAmount: 0n, totalUnspendable: 0n } as const;

function reversed({ inserted, removed }: MuHashChange): MuHashChange {
  return { inserted: removed, removed: inserted };
}
