import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { MempoolService } from '../../mempool/service.ts';
import type { CallTable, MempoolCalls } from '../../port/node-calls.ts';
import type { Refusal } from '../../port/refusal.ts';
import type { ParsedTransaction } from '../../primitives/block.ts';
import { DecodeError } from '../../util/bytes.ts';
import { isFileName } from '../../util/file-name.ts';
import type { Log } from '../../util/log.ts';

const FAILED: Refusal = { refused: 'misc', message: 'Unable to import mempool file, see debug log for details.' };
const NO_NAME: Refusal = {
  refused: 'invalidParameter',
  message:
    'the name of a mempool file must not contain a path: the file must be in the directory of backups or of the network',
};

export interface MempoolCallDeps {
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Returns the function that schedules a private broadcast; null where transactions are not broadcast privately. */
  readonly scheduler: () => ((parsed: ParsedTransaction) => boolean) | null;
}

/** Returns the calls of the RPC interface that change the mempool. */
export function mempoolCalls(
  mempool: MempoolService,
  networkDir: string,
  { log, signal, scheduler }: MempoolCallDeps,
): CallTable<MempoolCalls> {
  const dirs = [join(dirname(networkDir), 'backups'), networkDir];
  return {
    broadcast: (raw, limits) => {
      const schedule = scheduler();
      return schedule === null
        ? mempool.submissions.broadcast(raw, limits)
        : mempool.submissions.broadcastPrivately(raw, limits, schedule);
    },
    testTransactions: (raws) => mempool.submissions.test(raws),
    submitPackage: (raws, limits) => mempool.submissions.submitPackage(raws, limits),
    prioritise: (txid, delta) => mempool.prioritise(txid, delta),
    prioritised: () => mempool.prioritised(),
    saveMempool: () => mempool.save(),
    estimateFee: (question) => mempool.fees.estimate(question),
    estimateRawFee: (target, threshold) => mempool.fees.rawEstimates(target, threshold),
    mempoolCoverage: () => mempool.fees.coverage,
    projectedBlocks: () => mempool.fees.projectedBlocks(),
    async importMempool(name, options) {
      if (!isFileName(name)) return NO_NAME;
      const path = dirs.map((dir) => join(dir, name)).find(isPlainFile);
      if (path === undefined) {
        log.warn('the mempool file does not exist', { name, dirs });
        return FAILED;
      }
      try {
        log.info('mempool file imported', { path, ...(await mempool.import(path, options, signal)) });
        return null;
      } catch (error) {
        if (!signal.aborted && !(error instanceof DecodeError) && !isFileError(error)) throw error;
        log.warn('mempool file could not be imported', { path, error });
        return FAILED;
      }
    },
  };
}

/** A pipe is refused, since it might never end. */
function isPlainFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function isFileError(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code !== undefined;
}
