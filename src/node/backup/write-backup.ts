import { partOf } from '../../storage/backup/backup-manifest.ts';
import { copyProblem } from '../../storage/backup/backup-problem.ts';
import type { CopyStep } from '../../storage/backup/copy-file.ts';
import { type BackupReport, type BackupRequest, createBackup } from '../../storage/backup/create-backup.ts';
import { assertTargetFree } from '../../storage/backup/part-folder.ts';
import { OperatorError } from '../../util/operator-error.ts';
import { DirectoryInUse, lockDirectory } from '../lock.ts';

/**
 * Writes a backup and yields after each chunk. Throws OperatorError where that is not possible, also while another process
 * writes the same one.
 */
export function* writeBackup(request: BackupRequest): Generator<CopyStep, BackupReport> {
  const { target } = request;
  try {
    assertTargetFree(target);
    const release = lockPart(target);
    try {
      return yield* createBackup(request);
    } finally {
      release();
    }
  } catch (error) {
    throw copyProblem(error, `the backup ${target}`);
  }
}

function lockPart(target: string): () => void {
  try {
    return lockDirectory(partOf(target));
  } catch (error) {
    if (!(error instanceof DirectoryInUse)) throw error;
    throw new OperatorError(`the backup ${target} is being written by another process (pid ${error.owner})`);
  }
}
