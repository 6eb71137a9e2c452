import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../util/operator-error.ts';
import { syncDirectory } from '../../util/sync-directory.ts';
import { writeSmallFile } from './part-folder.ts';

/** The file in the directory of the network while a restore is not complete. */
export const RESTORE_MARKER = 'restore';

/** A restore that is not complete. */
interface UnfinishedRestore {
  /** Id of the backup. */
  readonly id: string;
  /** Directory that the operator has named for the wallets; null for the folder in that of the network. */
  readonly walletDir: string | null;
}

/** Returns the restore into a directory that is not complete; null without one. */
export function unfinishedRestore(networkDir: string): UnfinishedRestore | null {
  const path = join(networkDir, RESTORE_MARKER);
  if (!existsSync(path)) return null;
  const [id = '', ...walletDir] = readFileSync(path, 'utf8').replace(/\n$/, '').split('\n');
  return { id, walletDir: walletDir.length > 0 ? walletDir.join('\n') : null };
}

/** Throws OperatorError if a restore into this directory was interrupted. */
export function refuseUnfinishedRestore(networkDir: string): void {
  if (unfinishedRestore(networkDir) !== null)
    throw new OperatorError(
      `a restore into ${networkDir} was interrupted: run obverse restore with the same backup to complete it`,
    );
}

export function beginRestore(networkDir: string, { id, walletDir }: UnfinishedRestore): void {
  const text = walletDir === null ? id : `${id}\n${walletDir}`;
  writeSmallFile(join(networkDir, RESTORE_MARKER), Buffer.from(`${text}\n`));
  syncDirectory(networkDir);
}

export function finishRestore(networkDir: string): void {
  rmSync(join(networkDir, RESTORE_MARKER));
  syncDirectory(networkDir);
}
