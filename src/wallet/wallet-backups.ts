import { chmodSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { withDescriptors } from '../util/descriptors.ts';
import type { Log } from '../util/log.ts';
import type { Wallet } from './wallet.ts';
import { WalletError, walletFail } from './wallet-error.ts';
import { removeDatabase, type WalletFiles } from './wallet-files.ts';
import { writeWatchOnlyCopy } from './watch-only-copy.ts';

export interface WalletBackupsDeps {
  readonly files: WalletFiles;
  /** A loaded wallet. Throws WalletError. */
  readonly wallet: (name: string) => Wallet;
  readonly log: Log;
}

/** Writes copies of loaded wallets into the directory of backups, one after another. */
export class WalletBackups {
  readonly #deps: WalletBackupsDeps;
  #copying: Promise<unknown> = Promise.resolve();

  constructor(deps: WalletBackupsDeps) {
    this.#deps = deps;
  }

  /** Copies a wallet into the directory of backups. */
  write(name: string, file: string): Promise<void> {
    return this.#inTurn(() => this.#writeBackup(name, file));
  }

  /** Writes a copy of a wallet that has no private keys into the directory of backups; returns where. */
  exportWatchOnly(name: string, file: string): Promise<string> {
    return this.#inTurn(() => this.#writeWatchOnly(name, file));
  }

  /** One copy after another: two may be asked for under the same name. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const copying = this.#copying.then(work);
    this.#copying = copying.catch(() => {});
    return copying;
  }

  async #writeBackup(name: string, file: string): Promise<void> {
    const { files, log } = this.#deps;
    const wallet = this.#deps.wallet(name);
    const path = files.backup(file);
    files.makeBackupDir();
    const part = `${path}.part`;
    try {
      rmSync(part, { force: true });
      // SQLite fills an empty file, so that its mode is right from the beginning.
      withDescriptors(() => writeFileSync(part, '', { mode: 0o600 }));
      await wallet.copyTo(part, { withKeys: true });
      chmodSync(part, 0o600);
      renameSync(part, path);
    } catch (error) {
      rmSync(part, { force: true });
      log.error('a wallet cannot be backed up', { wallet: name, error });
      walletFail('wallet', 'Error: Wallet backup failed!');
    }
  }

  async #writeWatchOnly(name: string, file: string): Promise<string> {
    const { files, log } = this.#deps;
    const wallet = this.#deps.wallet(name);
    if (file === '') walletFail('wallet', 'Error: Export destination cannot be empty');
    const path = files.backup(file);
    if (existsSync(path)) walletFail('wallet', `Error: Export destination '${path}' already exists`);
    files.makeBackupDir();
    const part = `${path}.part`;
    try {
      removeDatabase(part);
      await writeWatchOnlyCopy(wallet, part);
      renameSync(part, path);
      return path;
    } catch (error) {
      if (error instanceof WalletError) throw error;
      log.error('a wallet cannot be exported', { wallet: name, error });
      return walletFail('wallet', 'Error: Unable to write the exported wallet');
    } finally {
      removeDatabase(part);
    }
  }
}
