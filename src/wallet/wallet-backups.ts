import { chmodSync, existsSync, linkSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { withDescriptors } from '../util/descriptors.ts';
import type { Log } from '../util/log.ts';
import type { Wallet } from './wallet.ts';
import { WalletError, walletFail } from './wallet-error.ts';
import { removeDatabase, type WalletFiles } from './wallet-files.ts';
import { writeWatchOnlyCopy } from './watch-only-copy.ts';

export interface WalletBackupsDeps {
  readonly files: WalletFiles;
  /** Returns a loaded wallet. Throws WalletError. */
  readonly wallet: (name: string) => Wallet;
  readonly log: Log;
}

/** Writes copies of loaded wallets into the backup directory, one at a time. */
export class WalletBackups {
  readonly #deps: WalletBackupsDeps;
  #copying: Promise<unknown> = Promise.resolve();

  constructor(deps: WalletBackupsDeps) {
    this.#deps = deps;
  }

  /** Copies a wallet into the backup directory. An existing backup of that name is kept unless `replace` is set. */
  write(name: string, file: string, { replace = false } = {}): Promise<void> {
    return this.#inTurn(() => this.#writeBackup(name, file, replace));
  }

  /** Writes a copy of a wallet without private keys into the backup directory; returns its path. */
  exportWatchOnly(name: string, file: string): Promise<string> {
    return this.#inTurn(() => this.#writeWatchOnly(name, file));
  }

  /** One copy at a time: two requests may use the same name. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const copying = this.#copying.then(work);
    this.#copying = copying.catch(() => {});
    return copying;
  }

  async #writeBackup(name: string, file: string, replace: boolean): Promise<void> {
    const { files, log } = this.#deps;
    const wallet = this.#deps.wallet(name);
    const path = files.backup(file);
    if (!replace && existsSync(path)) backupExists(path);
    files.makeBackupDir();
    const part = temporaryFor(path);
    try {
      removeDatabase(part);
      // SQLite fills an empty file, which has the right mode from the start.
      withDescriptors(() => writeFileSync(part, '', { mode: 0o600, flag: 'wx' }));
      await wallet.copyTo(part, { withKeys: true });
      chmodSync(part, 0o600);
      if (replace) renameSync(part, path);
      else if (!publish(part, path)) backupExists(path);
    } catch (error) {
      removeDatabase(part);
      if (error instanceof WalletError) throw error;
      log.error('a wallet cannot be backed up', { wallet: name, error });
      walletFail('wallet', 'Error: Wallet backup failed!');
    }
  }

  async #writeWatchOnly(name: string, file: string): Promise<string> {
    const { files, log } = this.#deps;
    const wallet = this.#deps.wallet(name);
    if (file === '') walletFail('wallet', 'Error: Export destination cannot be empty');
    const path = files.backup(file);
    if (existsSync(path)) destinationExists(path);
    files.makeBackupDir();
    const part = temporaryFor(path);
    try {
      removeDatabase(part);
      await writeWatchOnlyCopy(wallet, part);
      if (!publish(part, path)) destinationExists(path);
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

/** A name that no backup can have, since backup names do not begin with a dot. */
function temporaryFor(path: string): string {
  return join(dirname(path), `.${basename(path)}.part`);
}

/** Renames a finished copy; returns false where a file of that name exists by now. */
function publish(part: string, path: string): boolean {
  try {
    // A link, unlike a rename, fails where the name exists.
    linkSync(part, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' || existsSync(path)) return false;
    // This file system has no hard links.
    renameSync(part, path);
    return true;
  }
  unlinkSync(part);
  return true;
}

function destinationExists(path: string): never {
  return walletFail('wallet', `Error: Export destination '${path}' already exists`);
}

function backupExists(path: string): never {
  return walletFail('wallet', `Error: Backup '${path}' already exists: choose another name, or set replace`);
}
