import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/settings.ts';
import type { BackupReport } from '../../storage/backup/create-backup.ts';
import { OperatorError } from '../../util/operator-error.ts';
import { paramsOfConfig } from '../config-params.ts';
import { DirectoryInUse, lockDirectory } from '../lock.ts';
import { checkWalletDirectories } from '../wallet-directories.ts';
import { backupRequestOf } from './backup-request.ts';
import { finishSteps } from './finish-steps.ts';
import { writeBackup } from './write-backup.ts';

export interface BackupOptions {
  /** Absolute path of the backup. */
  readonly target: string;
  readonly withChain: boolean;
  readonly signal: AbortSignal;
}

/**
 * Writes a backup of a stopped node. Returns null where a node runs, which writes it itself, and 'aborted' after an abort.
 * Throws OperatorError where there is no data, or the backup cannot be written.
 */
export async function runBackup(
  config: Config,
  { target, withChain, signal }: BackupOptions,
): Promise<BackupReport | 'aborted' | null> {
  if (!existsSync(join(config.networkDir, 'node.db')))
    throw new OperatorError(`${config.networkDir} holds no data of a node: name its --datadir and --network`);
  // Without it, the backup of a node whose disk of wallets is not mounted would lack them.
  checkWalletDirectories(config);
  let release: () => void;
  try {
    release = lockDirectory(config.networkDir);
  } catch (error) {
    if (error instanceof DirectoryInUse) return null;
    throw error;
  }
  try {
    if (withChain && !existsSync(join(config.chainDir, 'chain.db')))
      throw new OperatorError(`${config.chainDir} holds no chain: omit --chain`);
    const request = backupRequestOf(config, paramsOfConfig(config), { target, withChain });
    return await finishSteps(writeBackup(request), signal);
  } finally {
    release();
  }
}
