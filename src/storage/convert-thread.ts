import { JobThread } from '../util/job-thread.ts';
import { OperatorError } from '../util/operator-error.ts';
import type { LogSettings } from '../util/process-log.ts';
import { startWorker } from '../util/worker.ts';
import type { ConversionJob, ConversionReply } from './conversion-job.ts';
import { needsConversion } from './convert-to-runs.ts';
import type { ChainDatabaseIdentity } from './database.ts';

/**
 * Converts a chain.db of an earlier schema on a thread of its own, so that the caller's thread receives signals meanwhile.
 * Does nothing to any other database. Throws OperatorError as `convertToRuns` does, also when the signal aborts.
 */
export async function convertOnThread(
  path: string,
  identity: ChainDatabaseIdentity,
  { log, signal }: { readonly log: LogSettings; readonly signal: AbortSignal },
): Promise<void> {
  if (!needsConversion(path, identity)) return;
  const stopping = new Int32Array(new SharedArrayBuffer(4));
  const stop = () => void Atomics.store(stopping, 0, 1);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  const thread = new JobThread<ConversionJob, ConversionReply>('conversion', () =>
    startWorker(new URL('./convert-worker.ts', import.meta.url), null),
  );
  try {
    const problem = await thread.runJob({ path, identity, log, stopping });
    if (problem !== null) throw new OperatorError(problem);
  } finally {
    signal.removeEventListener('abort', stop);
    await thread.close();
  }
}
