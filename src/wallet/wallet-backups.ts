import { chmodSync, existsSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { NetworkParams } from '../params/network-params.ts';
import { isDirectory } from '../storage/wallet-folder.ts';
import { withDescriptors } from '../util/descriptors.ts';
import type { Log } from '../util/log.ts';
import { publishFile } from './publish-file.ts';
import { isWalletFile } from './store/wallet-database.ts';
import { identityOf, type Wallet } from './wallet.ts';
import { WalletError, walletFail } from './wallet-error.ts';
import { removeDatabase, type WalletFiles } from './wallet-files.ts';
import { writeWatchOnlyCopy } from './watch-only-copy.ts';

const FAILED = 'Error: Wallet backup failed!';

export interface WalletBackupsDeps {
  readonly files: WalletFiles;
  readonly params: NetworkParams;
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
    const path = files.places.backup(file);
    // A path that names a wallet, its directory or another one can be no backup.
    if (this.#isTaken(path)) walletFail('wallet', FAILED);
    if (existsSync(path)) {
      if (!replace) backupExists(path);
      this.#ensureReplaceable(path);
    }
    files.makeBackupDir();
    const part = this.#temporaryFor(path);
    try {
      removeDatabase(part);
      // SQLite fills an empty file, which has the right mode from the start.
      withDescriptors(() => writeFileSync(part, '', { mode: 0o600, flag: 'wx' }));
      await wallet.copyTo(part, { withKeys: true });
      chmodSync(part, 0o600);
      if (replace) renameSync(part, path);
      else if (!publishFile(part, path)) backupExists(path);
    } catch (error) {
      removeDatabase(part);
      if (error instanceof WalletError) throw error;
      log.error('a wallet cannot be backed up', { wallet: name, error });
      walletFail('wallet', FAILED);
    }
  }

  async #writeWatchOnly(name: string, file: string): Promise<string> {
    const { files, log } = this.#deps;
    const wallet = this.#deps.wallet(name);
    if (file === '') walletFail('wallet', 'Error: Export destination cannot be empty');
    const path = files.places.backup(file);
    const shown = files.places.allowsPaths ? file : path;
    if (existsSync(path) || this.#isTaken(path)) destinationExists(shown);
    files.makeBackupDir();
    const part = this.#temporaryFor(path);
    try {
      removeDatabase(part);
      await writeWatchOnlyCopy(wallet, part);
      if (!publishFile(part, path)) destinationExists(shown);
      return path;
    } catch (error) {
      if (error instanceof WalletError) throw error;
      log.error('a wallet cannot be exported', { wallet: name, error });
      return walletFail('wallet', 'Error: Unable to write the exported wallet');
    } finally {
      removeDatabase(part);
    }
  }

  #isTaken(path: string): boolean {
    const { places } = this.#deps.files;
    return places.allowsPaths && (places.isOfWallet(path) || isDirectory(path));
  }

  /** Where backups have paths, a file of another kind is never replaced. */
  #ensureReplaceable(path: string): void {
    const { files, params } = this.#deps;
    if (!files.places.allowsPaths) return;
    // The thread would wait for a writer where the path is a named pipe.
    const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
    if (isFile && isWalletFile(path, identityOf(params))) return;
    walletFail('wallet', `Error: '${path}' is not a backup of a wallet, and is not replaced`);
  }

  /**
   * Returns a name that no backup has: names of backups do not begin with a dot, and the paths of other files are not
   * random.
   */
  #temporaryFor(path: string): string {
    const { allowsPaths } = this.#deps.files.places;
    return join(dirname(path), `.${allowsPaths ? crypto.randomUUID() : basename(path)}.part`);
  }
}

function destinationExists(path: string): never {
  return walletFail('wallet', `Error: Export destination '${path}' already exists`);
}

function backupExists(path: string): never {
  return walletFail('wallet', `Error: Backup '${path}' already exists: choose another name, or set replace`);
}
