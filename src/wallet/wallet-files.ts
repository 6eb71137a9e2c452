import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withDescriptors } from '../util/descriptors.ts';
import { isFileName } from '../util/file-name.ts';
import type { Log } from '../util/log.ts';
import { walletFail } from './wallet-error.ts';

export const DEFAULT_WALLET = 'default';
const FILE_SUFFIX = '.db';
const STARTUP_FILE = 'startup.json';
/** Suffix of a wallet file that is incomplete. */
export const PART_SUFFIX = '.part';
const PART = /\.db(\.[0-9a-f-]{36})?\.part(-journal|-wal|-shm)?$/;

/** The files of wallets and their backups, and the list of wallets to load at the start. */
export class WalletFiles {
  /** Directory of the wallets. */
  readonly dir: string;
  readonly #backupDir: string;
  readonly #log: Log;

  constructor({ dir, backupDir, log }: { dir: string; backupDir: string; log: Log }) {
    this.dir = dir;
    this.#backupDir = backupDir;
    this.#log = log;
  }

  makeDir(): void {
    mkdirSync(this.dir, { recursive: true, mode: 0o700 });
  }

  /** Removes wallet files that a crash left incomplete. */
  removeParts(): void {
    for (const file of withDescriptors(() => readdirSync(this.dir)))
      if (PART.test(file)) rmSync(join(this.dir, file), { force: true });
  }

  makeBackupDir(): void {
    mkdirSync(this.#backupDir, { recursive: true, mode: 0o700 });
  }

  /** Returns the names of all wallets with a file, loaded or not. */
  names(): string[] {
    return withDescriptors(() => readdirSync(this.dir))
      .filter((file) => file.endsWith(FILE_SUFFIX))
      .map((file) => file.slice(0, -FILE_SUFFIX.length))
      .sort();
  }

  /** Returns the path of a wallet's file. Throws WalletError on an invalid name. */
  place(name: string): { path: string; shown: string } {
    if (!isFileName(name))
      walletFail('invalidParameter', 'a wallet name is not a path: at most 128 bytes, without / \\ and a leading dot');
    const shown = join(this.dir, name);
    return { path: `${shown}${FILE_SUFFIX}`, shown };
  }

  /** Returns the path of a backup. Throws WalletError on an invalid name. */
  backup(file: string): string {
    if (!isFileName(file))
      walletFail('invalidParameter', 'the name of a backup is not a path: backups are in a directory of their own');
    return join(this.#backupDir, file);
  }

  /** Returns the names of the wallets to load at the start. */
  startup(): string[] {
    try {
      const names: unknown = JSON.parse(withDescriptors(() => readFileSync(join(this.dir, STARTUP_FILE), 'utf8')));
      return Array.isArray(names) ? names.filter((name) => typeof name === 'string' && isFileName(name)) : [];
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        this.#log.error('the list of wallets to load cannot be read', { error });
      return [DEFAULT_WALLET];
    }
  }

  /** Adds a wallet to the list of those to load at the start, or removes it; null leaves the list unchanged. */
  remember(name: string, load: boolean | null): void {
    if (load === null) return;
    const names = new Set(this.startup());
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

/** Removes a wallet's file with the journal files of SQLite. */
export function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
}
