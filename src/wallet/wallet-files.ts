import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { scanWallets, WALLET_FILE } from '../storage/wallet-folder.ts';
import { isWithin } from '../util/confined-path.ts';
import { withDescriptors } from '../util/descriptors.ts';
import { isFileName } from '../util/file-name.ts';
import type { Log } from '../util/log.ts';
import { walletFail } from './wallet-error.ts';
import { type WalletDirectories, type WalletPlace, WalletPlaces } from './wallet-places.ts';

export const DEFAULT_WALLET = 'default';
const STARTUP_FILE = 'startup.json';
/** Suffix of a wallet file that is incomplete. */
export const PART_SUFFIX = '.part';
const PART = /\.db(\.[0-9a-f-]{36})?\.part(-journal|-wal|-shm)?$/;
const FOLDER_PART = /^wallet\.dat\.[0-9a-f-]{36}\.part(-journal|-wal|-shm)?$/;
const WRITABLE_BY_OTHERS = 0o022;

/** The files of wallets, and the list of wallets to load at the start. */
export class WalletFiles {
  readonly places: WalletPlaces;
  readonly #log: Log;

  constructor({ log, ...directories }: WalletDirectories & { readonly log: Log }) {
    this.places = new WalletPlaces(directories);
    this.#log = log;
  }

  /** Directory of the wallets. */
  get dir(): string {
    return this.places.dir;
  }

  makeDir(): void {
    mkdirSync(this.dir, { recursive: true, mode: 0o700 });
  }

  /** Removes wallet files that a crash left incomplete. */
  removeParts(): void {
    // Files of others may be in a directory that the operator has named.
    if (!this.places.isNamedDir) removeMatching(this.dir, PART);
    removeMatching(this.dir, FOLDER_PART);
    for (const entry of withDescriptors(() => readdirSync(this.dir, { withFileTypes: true })))
      if (entry.isDirectory()) removeMatching(join(this.dir, entry.name), FOLDER_PART);
  }

  makeBackupDir(): void {
    mkdirSync(this.places.backupDir, { recursive: true, mode: 0o700 });
  }

  /** Returns the names of all wallets in the directory of wallets, loaded or not. */
  names(): string[] {
    const { dir, isNamedDir, allowsPaths } = this.places;
    const onProblem = (path: string, error: unknown) => {
      if (path === dir) this.#log.warn('the directory of wallets cannot be read', { path, error });
      else this.#log.warn('an entry of the directory of wallets cannot be read', { path, error });
    };
    return scanWallets(dir, { withFiles: !isNamedDir, onProblem })
      .map(({ name }) => name)
      .filter((name) => allowsPaths || isFileName(name));
  }

  /** Returns the place of a wallet. Throws WalletError on a name that is not allowed. */
  place(name: string): WalletPlace {
    return this.places.wallet(name);
  }

  /**
   * Makes the directory of a new wallet. Returns a function that removes it again where it has stayed empty. Throws
   * WalletError where it cannot be made.
   */
  makeFolder({ folder, shown }: WalletPlace): () => void {
    if (folder === null) return () => {};
    let made: string | undefined;
    try {
      made = mkdirSync(folder, { recursive: true, mode: 0o700 });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      walletFail('wallet', `Wallet file verification failed. Failed to create database path '${shown}': ${code}.`);
    }
    this.warnOfExposed(folder);
    return () => {
      if (made === undefined) return;
      try {
        for (let at = folder; isWithin(at, made); at = dirname(at)) rmdirSync(at);
      } catch {
        // Another program has written to it: what is there stays.
      }
    };
  }

  /** Warns of a directory in which other users could replace the wallet. */
  warnOfExposed(folder: string): void {
    const { mode } = statSync(folder);
    if ((mode & WRITABLE_BY_OTHERS) === 0) return;
    this.#log.warn('the directory of a wallet is writable for other users', {
      directory: folder,
      mode: (mode & 0o7777).toString(8),
    });
  }

  /** Returns the names of the wallets to load at the start. */
  startup(): string[] {
    try {
      const names: unknown = JSON.parse(withDescriptors(() => readFileSync(join(this.dir, STARTUP_FILE), 'utf8')));
      return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        this.#log.error('the list of wallets to load cannot be read', { error });
      // As in Core, the wallet without a name loads where there is no list.
      return this.places.allowsPaths && existsSync(join(this.dir, WALLET_FILE))
        ? ['', DEFAULT_WALLET]
        : [DEFAULT_WALLET];
    }
  }

  /** Adds a wallet to the list of those to load at the start, or removes it; null leaves the list unchanged. */
  remember(name: string, load: boolean | null): void {
    if (load === null) return;
    const names = new Set(this.startup());
    // The list that applies without a file stays the one without a file.
    if (names.has(name) === load) return;
    if (load) names.add(name);
    else names.delete(name);
    this.#write(names);
  }

  /** Removes a wallet from the list where the list is on disk and contains it. */
  removeFromStartup(name: string): void {
    if (existsSync(join(this.dir, STARTUP_FILE)) && this.startup().includes(name)) this.remember(name, false);
  }

  #write(names: ReadonlySet<string>): void {
    const path = join(this.dir, STARTUP_FILE);
    withDescriptors(() => writeFileSync(`${path}.part`, JSON.stringify([...names]), { mode: 0o600 }));
    renameSync(`${path}.part`, path);
  }
}

function removeMatching(folder: string, pattern: RegExp): void {
  let names: string[];
  try {
    names = withDescriptors(() => readdirSync(folder));
  } catch {
    // A wallet in a directory that cannot be read is not loaded either.
    return;
  }
  for (const name of names) if (pattern.test(name)) rmSync(join(folder, name), { force: true });
}

/** Removes a wallet's file with the journal files of SQLite. */
export function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
}
