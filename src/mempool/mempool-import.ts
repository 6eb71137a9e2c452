import { type Clock, unixSeconds } from '../util/clock.ts';
import { MempoolFile, type MempoolFileEntry } from './mempool-file.ts';
import type { Mempool } from './pool.ts';
import { processInSlices } from './process-in-slices.ts';
import type { Acceptance } from './validation/acceptance.ts';

/** Options of `importmempool`. */
export interface MempoolImportOptions {
  /** Use the current time instead of the times in the file. */
  readonly useCurrentTime: boolean;
  readonly applyFeeDeltas: boolean;
  readonly applyUnbroadcast: boolean;
}

export interface MempoolImportCounts {
  readonly accepted: number;
  readonly failed: number;
  readonly expired: number;
  readonly alreadyThere: number;
  readonly unbroadcast: number;
}

export interface MempoolImportDeps {
  readonly mempool: Mempool;
  readonly acceptance: Acceptance;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Runs one slice when the chain is settled. */
  run<T>(work: () => T): Promise<T>;
}

/**
 * Imports a `mempool.dat` of Bitcoin Core, submitting its transactions one by one. Throws DecodeError if the file is
 * invalid or truncated; transactions accepted before that remain.
 */
export async function importMempool(
  path: string,
  options: MempoolImportOptions,
  deps: MempoolImportDeps,
): Promise<MempoolImportCounts> {
  const { mempool } = deps;
  using file = new MempoolFile(path);
  const counts = { accepted: 0, failed: 0, expired: 0, alreadyThere: 0, unbroadcast: 0 };
  await processInSlices(file.transactions(), deps, (entry) => {
    counts[importTransaction(entry, options, deps)]++;
  });
  await processInSlices(file.feeDeltas(), deps, ([txid, delta]) => {
    if (options.applyFeeDeltas) mempool.prioritise(txid, delta);
  });
  await processInSlices(file.unbroadcast(), deps, (txid) => {
    if (!options.applyUnbroadcast || mempool.entries.find(txid) < 0) return;
    mempool.addUnbroadcast(txid);
    counts.unbroadcast++;
  });
  return counts;
}

function importTransaction(
  { parsed, time: cameAt, feeDelta }: MempoolFileEntry,
  { useCurrentTime, applyFeeDeltas }: MempoolImportOptions,
  { mempool, acceptance, clock }: MempoolImportDeps,
): Exclude<keyof MempoolImportCounts, 'unbroadcast'> {
  const now = unixSeconds(clock);
  const time = useCurrentTime ? now : cameAt;
  if (feeDelta !== 0 && applyFeeDeltas) mempool.prioritise(parsed.txid, feeDelta);
  if (time <= now - mempool.options.expirySeconds) return 'expired';
  if (mempool.entries.find(parsed.txid) >= 0) return 'alreadyThere';
  return acceptance.accept(parsed, { time }).status === 'accepted' ? 'accepted' : 'failed';
}
