import { type VerifyLevel, type VerifyReport, verifyFolder } from '../chain/integrity/verify-folder.ts';
import type { Config } from '../config/settings.ts';
import { refuseUnfinishedReindex } from '../storage/reindex-folder.ts';
import { paramsOfConfig } from './config-params.ts';
import type { ImportProgress } from './import-types.ts';
import { lockDirectory } from './lock.ts';

/** Time for which the check runs before signals are handled, milliseconds. */
const SLICE_MS = 100;

export interface VerifyOptions {
  readonly level: VerifyLevel;
  readonly signal: AbortSignal;
  readonly progress: (progress: ImportProgress) => void;
}

/**
 * Checks the chain's data of a stopped node, and changes none of it. Resolves to null after an abort. Throws
 * OperatorError if the directory is in use or holds no chain.
 */
export async function runVerify(
  config: Config,
  { level, signal, progress }: VerifyOptions,
): Promise<VerifyReport | null> {
  const release = lockDirectory(config.networkDir);
  const startedAt = performance.now();
  try {
    refuseUnfinishedReindex(config.chainDir);
    const check = verifyFolder(config.chainDir, paramsOfConfig(config), level);
    for (let pausedAt = performance.now(); ; ) {
      const { done, value } = check.next();
      if (done) return value;
      if (performance.now() - pausedAt < SLICE_MS) continue;
      progress({ ...value, blocks: value.height, inputs: 0, elapsedMs: performance.now() - startedAt });
      await new Promise(setImmediate);
      pausedAt = performance.now();
      if (signal.aborted) {
        check.return(null as never);
        return null;
      }
    }
  } finally {
    release();
  }
}
