import type { BackupReport, BackupRequest } from '../../storage/backup/create-backup.ts';
import { serveJobs } from '../../util/job-thread.ts';
import { CopyPace } from './copy-pace.ts';
import { writeBackup } from './write-backup.ts';

export interface BackupJob {
  readonly request: BackupRequest;
  /** Bytes per second that are read at most; 0 for no limit. */
  readonly bytesPerSecond: number;
  /** Not zero when the job is to end. */
  readonly cancel: Int32Array;
}

/** A report, the sentence why there is none, or null after a cancellation. */
export type BackupOutcome = { readonly report: BackupReport } | { readonly problem: string } | null;

/** Behind everything that clients and peers wait for. */
const BACKUP_NICE = 19;

function runJob({ request, bytesPerSecond, cancel }: BackupJob, onProgress: () => void): BackupOutcome {
  const pace = new CopyPace(bytesPerSecond, cancel);
  const steps = writeBackup(request);
  try {
    for (;;) {
      const step = steps.next();
      if (step.done) return { report: step.value };
      onProgress();
      if (!pace.waitAfter(step.value.read)) {
        steps.return(null as never);
        return null;
      }
    }
  } catch (error) {
    if (error instanceof Error && error.name === 'OperatorError') return { problem: error.message };
    throw error;
  }
}

if (!Bun.isMainThread) serveJobs(BACKUP_NICE, runJob);
