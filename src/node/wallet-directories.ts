import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../config/settings.ts';
import { WALLET_FOLDER } from '../storage/wallet-folder.ts';
import { OperatorError } from '../util/operator-error.ts';
import type { WalletDirectories } from '../wallet/wallet-places.ts';

/** Returns the directories of wallets and of their backups. */
export function walletDirectoriesOf({ networkDir, chainDir, wallet }: Config): WalletDirectories {
  return {
    dir: wallet.directory ?? join(networkDir, WALLET_FOLDER),
    isNamedDir: wallet.directory !== null,
    backupDir: wallet.backupDirectory ?? join(dirname(networkDir), 'backups'),
    pathRoot: wallet.pathRoot,
    nodeDirs: [networkDir, chainDir],
  };
}

/**
 * Returns the directories that the settings name for wallets. Throws OperatorError where one does not exist: a directory
 * that is made in the place of a disk that is not mounted would hide the wallets on it.
 */
export function checkWalletDirectories({ wallet }: Config): readonly string[] {
  const found: string[] = [];
  if (!wallet.enabled) return found;
  for (const key of ['directory', 'backupDirectory', 'pathRoot'] as const) {
    const path = wallet[key];
    if (path === null) continue;
    const state = statSync(path, { throwIfNoEntry: false });
    const problem = state === undefined ? 'does not exist' : 'is not a directory';
    if (!state?.isDirectory()) throw new OperatorError(`wallet.${key}: ${path} ${problem}`, { isOfSettings: true });
    found.push(path);
  }
  return found;
}
