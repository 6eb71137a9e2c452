import { lstatSync } from 'node:fs';
import { basename, isAbsolute, join, resolve } from 'node:path';
import { isPlainFile, WALLET_FILE, WALLET_SUFFIX } from '../storage/wallet-folder.ts';
import { isWithin, resolveLinks, resolveWithin } from '../util/confined-path.ts';
import { isFileName } from '../util/file-name.ts';
import { walletFail } from './wallet-error.ts';

/** The directories of wallets and of their backups. */
export interface WalletDirectories {
  /** Directory in which relative names of wallets begin. */
  readonly dir: string;
  /** Whether the operator has named that directory. It then has no wallets that are files with the suffix `.db`. */
  readonly isNamedDir?: boolean;
  /** Directory in which relative names of backups begin. */
  readonly backupDir: string;
  /** Directory within which names may be paths; null where they are names without a path. */
  readonly pathRoot?: string | null;
  /** Directories with other data of the node, in which no path of a wallet or backup ends. */
  readonly nodeDirs?: readonly string[];
}

/** Where the file of a wallet is, or will be. */
export interface WalletPlace {
  /** Path of the file, without symbolic links where the wallet has a directory of its own. */
  readonly path: string;
  /** The path as Core shows it in errors. */
  readonly shown: string;
  /** The wallet's own directory; null where the wallet is a file of the directory of wallets. */
  readonly folder: string | null;
  readonly exists: boolean;
}

const MAX_PATH_BYTES = 1024;
/** Names that files of the node or of SQLite have, or may have, in the directory of wallets. */
const RESERVED = /^startup\.json(\.part)?$|^wallet\.dat(-wal|-shm|-journal)?$|\.(db|part)(-wal|-shm|-journal)?$/;
const OUTSIDE =
  'the path is outside of the directory that the setting wallet.pathRoot names, or among other data of the node';
const FAILED = 'Wallet file verification failed.';

/** Finds the files of wallets and backups by their names, and refuses names that lead out of the directories. */
export class WalletPlaces {
  readonly dir: string;
  readonly backupDir: string;
  readonly isNamedDir: boolean;
  readonly #root: string | null;
  readonly #nodeDirs: readonly string[];

  constructor({ dir, isNamedDir = false, backupDir, pathRoot = null, nodeDirs = [] }: WalletDirectories) {
    this.dir = dir;
    this.isNamedDir = isNamedDir;
    this.backupDir = backupDir;
    this.#root = pathRoot;
    this.#nodeDirs = nodeDirs;
  }

  get #realDir(): string {
    return resolveLinks(this.dir) ?? this.dir;
  }

  /**
   * Returns a path without symbolic links; null where it is outside of the directories, or among other data of the node.
   */
  #resolve(path: string, ...roots: readonly string[]): string | null {
    const resolved = resolveWithin(path, this.#root === null ? roots : [...roots, this.#root]);
    if (resolved === null) return null;
    const own = [this.dir, this.backupDir]
      .map((dir) => resolveLinks(dir) ?? dir)
      .filter((dir) => isWithin(resolved, dir));
    // A directory of wallets that contains the data of the node allows no path into that data.
    const isAmongOthers = this.#nodeDirs.some((nodeDir) => {
      const real = resolveLinks(nodeDir) ?? nodeDir;
      return isWithin(resolved, real) && !own.some((dir) => isWithin(dir, real));
    });
    return isAmongOthers ? null : resolved;
  }

  /** Whether names may be paths. */
  get allowsPaths(): boolean {
    return this.#root !== null;
  }

  /**
   * Returns the place of a wallet. Throws WalletError on a name that is not allowed, and on a path that leads out of the
   * directories.
   */
  wallet(name: string): WalletPlace {
    if (this.#root === null) {
      if (!isFileName(name))
        walletFail(
          'invalidParameter',
          'a wallet name is not a path: at most 128 bytes, without / \\ and a leading dot',
        );
    } else checkNormalized(name);
    return this.#fileOf(name) ?? this.#folderOf(name);
  }

  /** Returns the place of a wallet that is a file of the directory, or would be created as one; otherwise null. */
  #fileOf(name: string): WalletPlace | null {
    if (this.isNamedDir || !isFileName(name)) return null;
    const shown = join(this.dir, name);
    const path = `${shown}${WALLET_SUFFIX}`;
    const exists = isThere(path);
    if (!exists && (this.#root !== null || isPlainFile(join(shown, WALLET_FILE)))) return null;
    return { path, shown, folder: null, exists };
  }

  #folderOf(name: string): WalletPlace {
    const shown = isAbsolute(name) ? name : join(this.dir, name);
    const folder = this.#resolve(shown, this.dir) ?? walletFail('wallet', `${FAILED} ${OUTSIDE}`);
    const kind = kindOf(folder);
    if (kind === 'other') walletFail('wallet', `${FAILED} Invalid -wallet path '${name}'. It must name a directory.`);
    const path = join(folder, WALLET_FILE);
    const exists = isPlainFile(path);
    if (!exists) this.#checkNew(shown, folder, path);
    return { path, shown, folder, exists };
  }

  /** A new directory must not take the name of a file that the node or SQLite writes beside it. */
  #checkNew(shown: string, folder: string, path: string): void {
    if (isThere(path)) walletFail('walletNotFound', `${FAILED} ${unrecognized(shown)}`);
    const base = isWithin(shown, this.dir) ? this.dir : this.#root!;
    const parts = shown
      .slice(base.length)
      .split('/')
      .filter((part) => part !== '');
    const bad = parts.find((part) => RESERVED.test(part) || Buffer.byteLength(part) > 255);
    if (bad !== undefined || folder === '/')
      walletFail(
        'wallet',
        `${FAILED} Invalid -wallet path '${shown}'. The name ${bad ?? '/'} is reserved or too long.`,
      );
  }

  /** Returns the path of a backup. Throws WalletError on a name that is not allowed. */
  backup(name: string): string {
    if (this.#root === null) {
      if (!isFileName(name))
        walletFail('invalidParameter', 'the name of a backup is not a path: backups are in a directory of their own');
      return join(this.backupDir, name);
    }
    if (name === '' || name.includes('\0') || Buffer.byteLength(name) > MAX_PATH_BYTES)
      walletFail('invalidParameter', `the path of a backup has 1 to ${MAX_PATH_BYTES} bytes and no NUL`);
    return this.#resolve(resolve(this.backupDir, name), this.backupDir) ?? walletFail('invalidParameter', OUTSIDE);
  }

  /** Whether a path, without symbolic links, belongs to a wallet or to its directory. */
  isOfWallet(path: string): boolean {
    const name = basename(path);
    return name === WALLET_FILE || (RESERVED.test(name) && isWithin(path, this.#realDir));
  }
}

/** Core's sentence for a directory without a wallet. */
export function unrecognized(shown: string): string {
  return `Failed to load database path '${shown}'. Data is not in recognized format.`;
}

/** Throws WalletError unless a name is a normalized path below a directory. */
function checkNormalized(name: string): void {
  const fail = (problem: string) => walletFail('wallet', `${FAILED} ${problem}`);
  if (name.includes('\0') || Buffer.byteLength(name) > MAX_PATH_BYTES)
    fail(`Wallet name has more than ${MAX_PATH_BYTES} bytes, or a NUL`);
  if (name === '') return;
  if (name === '/') fail('Wallet name cannot be the root path');
  const parts = (isAbsolute(name) ? name.slice(1) : name).split('/');
  const first = parts.findIndex((part) => part !== '..');
  const isRelative = !isAbsolute(name);
  const named = isRelative && first !== 0 ? parts.slice(first < 0 ? parts.length : first) : parts;
  if (named.some((part) => part === '' || part === '..' || (part === '.' && name !== '.')))
    fail('Wallet name given as a path must be normalized');
  if (isRelative && (first !== 0 || name === '.'))
    fail(
      'Wallet name given as a relative path cannot begin with ./ or ../, for wallets not in the walletdir, please use an absolute path.',
    );
}

function kindOf(path: string): 'none' | 'directory' | 'other' {
  try {
    return lstatSync(path).isDirectory() ? 'directory' : 'other';
  } catch {
    return 'none';
  }
}

/** Whether anything has this name. */
function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}
