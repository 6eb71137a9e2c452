import { existsSync } from 'node:fs';
import type { Config } from '../config/settings.ts';
import { closeDatabase } from '../storage/database.ts';
import { OperatorError } from '../util/operator-error.ts';
import { processLog } from '../util/process-log.ts';
import { KnownWallets } from '../wallet/store/known-wallets.ts';
import { WalletFiles } from '../wallet/wallet-files.ts';
import { paramsOfConfig } from './config-params.ts';
import { lockDirectory } from './lock.ts';
import { openNodeStorage } from './node-storage.ts';
import { walletFolders } from './wallets.ts';

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
      const files = new WalletFiles({ ...walletFolders(config), log: processLog(config.log) });
      for (const name of names) {
        if (!known.all().has(name) && !files.startup().includes(name))
          throw new OperatorError(
            `this node has no wallet ${name}; it knows ${[...known.all().keys()].join(', ') || 'none'}`,
          );
        const { path } = files.place(name);
        if (existsSync(path)) throw new OperatorError(`${path} exists: unload the wallet and move its file away first`);
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
