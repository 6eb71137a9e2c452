import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../util/operator-error.ts';
import { syncDirectory } from '../../util/sync-directory.ts';
import { writeSmallFile } from './part-folder.ts';

/** The file in the directory of the network while a restore is not complete. */
export const RESTORE_MARKER = 'restore';

/** Returns the id of the backup whose restore is not complete; null without one. */
export function unfinishedRestore(networkDir: string): string | null {
  const path = join(networkDir, RESTORE_MARKER);
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : null;
}

/** Throws OperatorError if a restore into this directory was interrupted. */
export function refuseUnfinishedRestore(networkDir: string): void {
  if (unfinishedRestore(networkDir) !== null)
    throw new OperatorError(
      `a restore into ${networkDir} was interrupted: run obverse restore with the same backup to complete it`,
    );
}

export function beginRestore(networkDir: string, id: string): void {
  writeSmallFile(join(networkDir, RESTORE_MARKER), Buffer.from(`${id}\n`));
  syncDirectory(networkDir);
}

export function finishRestore(networkDir: string): void {
  rmSync(join(networkDir, RESTORE_MARKER));
  syncDirectory(networkDir);
}
