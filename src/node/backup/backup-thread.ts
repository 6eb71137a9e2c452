import { JobThread } from '../../util/job-thread.ts';
import { startWorker } from '../../util/worker.ts';
import type { BackupJob, BackupOutcome } from './backup-worker.ts';

/** Returns a thread that writes one backup. */
export function backupThread(): JobThread<BackupJob, BackupOutcome> {
  return new JobThread('backup', () => startWorker(new URL('./backup-worker.ts', import.meta.url), null));
}
