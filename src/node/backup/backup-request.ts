import type { Config } from '../../config/settings.ts';
import type { NetworkParams } from '../../params/network-params.ts';
import { hashToHex } from '../../primitives/hash.ts';
import type { BackupRequest } from '../../storage/backup/create-backup.ts';
import { VERSION } from '../../util/build-version.ts';
import { omittedFiles } from './omitted-files.ts';

/** Returns the request for a backup of the configured data directory. */
export function backupRequestOf(
  config: Config,
  { name, consensus }: NetworkParams,
  { target, withChain }: Pick<BackupRequest, 'target' | 'withChain'>,
): BackupRequest {
  return {
    networkDir: config.networkDir,
    chainDir: config.chainDir,
    walletDir: config.wallet.directory,
    target,
    withChain,
    settingsFile: config.config,
    identity: { network: name, genesisHash: hashToHex(consensus.genesisHash) },
    version: VERSION,
    reserveBytes: config.ready.disk.fail * 2 ** 20,
    omitted: omittedFiles(config, process.env),
  };
}
