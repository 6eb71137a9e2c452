import type { Config } from '../config/settings.ts';
import { closeDatabase } from '../storage/database.ts';
import { OperatorError } from '../util/operator-error.ts';
import { processLog } from '../util/process-log.ts';
import { KnownWallets } from '../wallet/store/known-wallets.ts';
import { WalletError } from '../wallet/wallet-error.ts';
import { WalletFiles } from '../wallet/wallet-files.ts';
import { paramsOfConfig } from './config-params.ts';
import { lockDirectory } from './lock.ts';
import { openNodeStorage } from './node-storage.ts';
import { walletDirectoriesOf } from './wallet-directories.ts';

/**
 * Removes wallets whose files are lost from the list of known wallets: all of them or none. Throws OperatorError where
 * the file of one exists, or the node never had the wallet.
 */
export function forgetWallets(config: Config, names: readonly string[]): void {
  const release = lockDirectory(config.networkDir);
  try {
    const database = openNodeStorage(config, paramsOfConfig(config));
    try {
      const known = new KnownWallets(database);
      const files = new WalletFiles({ ...walletDirectoriesOf(config), log: processLog(config.log) });
      for (const name of names) {
        if (!known.all().has(name) && !files.startup().includes(name))
          throw new OperatorError(
            `this node has no wallet ${name}; it knows ${[...known.all().keys()].join(', ') || 'none'}`,
          );
        const path = existingFile(files, name);
        if (path !== null) throw new OperatorError(`${path} exists: unload the wallet and move its file away first`);
      }
      for (const name of names) {
        known.forget(name);
        files.removeFromStartup(name);
      }
    } finally {
      closeDatabase(database);
    }
  } finally {
    release();
  }
}

/** Returns the path of a wallet's file; null where it has none, or the settings no longer allow its path. */
function existingFile(files: WalletFiles, name: string): string | null {
  try {
    const { path, exists } = files.place(name);
    return exists ? path : null;
  } catch (error) {
    if (error instanceof WalletError) return null;
    throw error;
  }
}
