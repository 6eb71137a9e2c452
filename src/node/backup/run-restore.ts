import type { Config } from '../../config/settings.ts';
import { hashToHex } from '../../primitives/hash.ts';
import { copyProblem } from '../../storage/backup/backup-problem.ts';
import { type RestoreReport, readManifestFor, restoreBackup } from '../../storage/backup/restore-backup.ts';
import { paramsOfConfig } from '../config-params.ts';
import { lockDirectory } from '../lock.ts';
import { checkWalletDirectories } from '../wallet-directories.ts';
import { finishSteps } from './finish-steps.ts';

/** Restores a backup into the configured data directory. Throws OperatorError where that is not possible. */
export async function runRestore(config: Config, dir: string, signal: AbortSignal): Promise<RestoreReport | 'aborted'> {
  const { networkDir, network } = config;
  const genesisHash = hashToHex(paramsOfConfig(config).consensus.genesisHash);
  // Before a directory is created.
  readManifestFor(dir, network, genesisHash);
  // A restore does not make them either: a disk that is mounted later would hide the wallets.
  checkWalletDirectories(config);
  const release = lockDirectory(networkDir, { allowsRestore: true });
  try {
    return await finishSteps(
      restoreBackup({ dir, networkDir, walletDir: config.wallet.directory, network, genesisHash }),
      signal,
    );
  } catch (error) {
    throw copyProblem(error, `the restore into ${networkDir}`);
  } finally {
    release();
  }
}
