import { Database } from 'bun:sqlite';
import { type Dirent, existsSync, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { isWithin } from '../util/confined-path.ts';
import { withDescriptors } from '../util/descriptors.ts';

/** The folder of wallets in the directory of a network. */
export const WALLET_FOLDER = 'wallets';
/** Folder of a backup with the wallets from other places, by their absolute paths. */
export const WALLETS_ELSEWHERE = 'wallets-elsewhere';
/** Suffix of a wallet that is a file of the folder of wallets. */
export const WALLET_SUFFIX = '.db';
/** The file of a wallet that has a directory of its own. */
export const WALLET_FILE = 'wallet.dat';

/** Directories below that of the wallets in which wallets are found without being named. */
const MAX_DEPTH = 8;
/** Entries of directories that one scan reads. */
const MAX_ENTRIES = 100_000;

/** A wallet that was found in a directory. */
export interface FoundWallet {
  /** Its path relative to the directory, without a suffix; empty for the file `wallet.dat` of the directory itself. */
  readonly name: string;
  /** Path of its file. */
  readonly path: string;
}

interface ScanOptions {
  /** Whether the directory has wallets that are files with the suffix `.db`. */
  readonly withFiles: boolean;
  /** Called for a directory, or a link in the place of a wallet's file, that is left out. */
  readonly onProblem?: (path: string, error: unknown) => void;
}

/**
 * Returns the wallets in a directory and in the directories below, by name. A directory that is a symbolic link has a
 * wallet of its own, and the scan does not go on below it.
 */
export function scanWallets(directory: string, { withFiles, onProblem = () => {} }: ScanOptions): FoundWallet[] {
  const found: FoundWallet[] = [];
  let left = MAX_ENTRIES;
  const scan = (folder: string, prefix: string, depth: number) => {
    let entries: Dirent[];
    try {
      entries = withDescriptors(() => readdirSync(folder, { withFileTypes: true }));
    } catch (error) {
      if (depth === 0 && !existsSync(folder)) return;
      onProblem(folder, error);
      return;
    }
    for (const entry of entries) {
      if (left-- <= 0) return onProblem(folder, new Error(`the scan ends after ${MAX_ENTRIES} entries`));
      const path = join(folder, entry.name);
      if (entry.name === WALLET_FILE) {
        if (entry.isFile()) found.push({ name: prefix, path });
        else if (entry.isSymbolicLink()) onProblem(path, new Error('a symbolic link in the place of a wallet'));
      } else if (depth === 0 && withFiles && entry.name.endsWith(WALLET_SUFFIX) && isFileOrLink(entry, path)) {
        found.push({ name: entry.name.slice(0, -WALLET_SUFFIX.length), path });
      } else if (entry.isDirectory() && depth < MAX_DEPTH) {
        scan(path, prefix === '' ? entry.name : `${prefix}/${entry.name}`, depth + 1);
      } else if (entry.isSymbolicLink() && isPlainFile(join(path, WALLET_FILE))) {
        found.push({ name: prefix === '' ? entry.name : `${prefix}/${entry.name}`, path: join(path, WALLET_FILE) });
      }
    }
  };
  scan(directory, '', 0);
  return found.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/** An operator may have moved the file of a wallet to another disk. */
function isFileOrLink(entry: Dirent, path: string): boolean {
  return entry.isFile() || (entry.isSymbolicLink() && !isDirectory(path));
}

/** Whether the path names a directory, also by a symbolic link. */
export function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** Whether the path names a file, which is no symbolic link. */
export function isPlainFile(path: string): boolean {
  try {
    return lstatSync(path).isFile();
  } catch {
    return false;
  }
}

/** The directories of a node whose wallets are listed. */
export interface WalletSources {
  /** Directory of the network, with node.db. */
  readonly networkDir: string;
  /** Directory that the operator has named for the wallets; null for the folder in that of the network. */
  readonly walletDir: string | null;
  /** Whether this is a backup, which has the files of all of its wallets; those elsewhere belong to a node. */
  readonly isBackup?: boolean;
  /** Called for a directory or a database that cannot be read, whose wallets are left out. */
  readonly onProblem?: (path: string, error: unknown) => void;
}

/** The file of a wallet, and where a backup holds it. */
export interface WalletFile {
  readonly name: string;
  readonly path: string;
  /** Relative to the directory of a backup. */
  readonly inBackup: string;
}

/**
 * Returns the files of all wallets of a node: those in the directory of the wallets, and those elsewhere that it has had
 * loaded. Each file is listed once.
 */
export function walletFilesOf({
  networkDir,
  walletDir,
  isBackup = false,
  onProblem = () => {},
}: WalletSources): WalletFile[] {
  const dir = walletDir ?? join(networkDir, WALLET_FOLDER);
  const realDir = realPathOf(dir) ?? dir;
  const files = new Map<string, WalletFile>();
  const add = (name: string, path: string) => {
    const real = realPathOf(path);
    if (real === null || files.has(real)) return;
    // A file of the folder that is a link to another disk is copied under the name of the link.
    const isOwn = dirname(path) === dir || isWithin(real, realDir);
    const relative = dirname(path) === dir ? basename(path) : real.slice(realDir.length + 1);
    files.set(real, { name, path, inBackup: isOwn ? `${WALLET_FOLDER}/${relative}` : `${WALLETS_ELSEWHERE}${real}` });
  };
  for (const { name, path } of scanWallets(dir, { withFiles: walletDir === null, onProblem })) add(name, path);
  for (const name of isBackup ? [] : knownNames(networkDir, onProblem)) {
    const path = join(isAbsolute(name) ? name : join(dir, name), WALLET_FILE);
    if (isPlainFile(path)) add(name, path);
  }
  // A backup has the wallets from other places in a folder of their own. A restored node has them there until the operator
  // moves them; a copy that remains does not take the place of the wallet in use.
  const places = new Set([...files.values()].map(({ inBackup }) => inBackup));
  for (const { name, path } of scanWallets(join(networkDir, WALLETS_ELSEWHERE), { withFiles: false, onProblem })) {
    const inBackup = `${WALLETS_ELSEWHERE}/${name}/${WALLET_FILE}`;
    if (!places.has(inBackup)) files.set(path, { name: `/${name}`, path, inBackup });
  }
  return [...files.values()];
}

function realPathOf(path: string): string | null {
  try {
    return withDescriptors(() => realpathSync.native(path));
  } catch {
    return null;
  }
}

/** Returns the names of the wallets that node.db has; none where it cannot be read. */
function knownNames(networkDir: string, onProblem: (path: string, error: unknown) => void): string[] {
  const path = join(networkDir, 'node.db');
  if (!existsSync(path)) return [];
  try {
    const db = withDescriptors(() => new Database(path, { readonly: true }));
    try {
      return db
        .query<{ name: string }, []>('SELECT name FROM wallets ORDER BY name')
        .all()
        .map(({ name }) => name);
    } finally {
      db.close();
    }
  } catch (error) {
    onProblem(path, error);
    return [];
  }
}
