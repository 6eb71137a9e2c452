import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withDescriptors } from '../util/descriptors.ts';
import { isFileName } from '../util/file-name.ts';
import type { Log } from '../util/log.ts';
import { walletFail } from './wallet-error.ts';

export const DEFAULT_WALLET = 'default';
const FILE_SUFFIX = '.db';
const STARTUP_FILE = 'startup.json';
/** Of a wallet's file that is not complete. */
export const PART_SUFFIX = '.part';
const PART = /\.db(\.[0-9a-f-]{36})?\.part(-journal|-wal|-shm)?$/;

/** Where the files of wallets and their backups lie, and the list of those to load at the start. */
export class WalletFiles {
  /** Of the wallets. */
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

  /** Removes files of wallets that a crash left incomplete. */
  removeParts(): void {
    for (const file of withDescriptors(() => readdirSync(this.dir)))
      if (PART.test(file)) rmSync(join(this.dir, file), { force: true });
  }

  makeBackupDir(): void {
    mkdirSync(this.#backupDir, { recursive: true, mode: 0o700 });
  }

  /** Names of the wallets whose files are there, loaded or not. */
  names(): string[] {
    return withDescriptors(() => readdirSync(this.dir))
      .filter((file) => file.endsWith(FILE_SUFFIX))
      .map((file) => file.slice(0, -FILE_SUFFIX.length))
      .sort();
  }

  /** Where a wallet's file is. Throws WalletError on a name that is none. */
  place(name: string): { path: string; shown: string } {
    if (!isFileName(name))
      walletFail('invalidParameter', 'a wallet name holds no path: at most 128 bytes, without / \\ and a leading dot');
    const shown = join(this.dir, name);
    return { path: `${shown}${FILE_SUFFIX}`, shown };
  }

  /** Where a backup is. Throws WalletError on a name that is none. */
  backup(file: string): string {
    if (!isFileName(file))
      walletFail('invalidParameter', 'the name of a backup holds no path: backups lie in the directory for them');
    return join(this.#backupDir, file);
  }

  /** Names of the wallets to load at the start. */
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

  /** Puts a wallet on the list of those to load at the start, or takes it off; null leaves the list as it is. */
  remember(name: string, load: boolean | null): void {
    if (load === null) return;
    const names = new Set(this.startup());
    if (load) names.add(name);
    else names.delete(name);
    this.#write(names);
  }

  /** Takes a wallet off the list where that is on the disk and has it. */
  removeFromStartup(name: string): void {
    if (existsSync(join(this.dir, STARTUP_FILE)) && this.startup().includes(name)) this.remember(name, false);
  }

  #write(names: ReadonlySet<string>): void {
    const path = join(this.dir, STARTUP_FILE);
    withDescriptors(() => writeFileSync(`${path}.part`, JSON.stringify([...names]), { mode: 0o600 }));
    renameSync(`${path}.part`, path);
  }
}

/** Removes a wallet's file, and what SQLite keeps beside it. */
export function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
}
