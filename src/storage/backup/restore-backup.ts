import { closeSync, existsSync, mkdirSync, openSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isWithin } from '../../util/confined-path.ts';
import { withDescriptors } from '../../util/descriptors.ts';
import { OperatorError } from '../../util/operator-error.ts';
import { syncDirectory } from '../../util/sync-directory.ts';
import { WALLET_FOLDER, WALLETS_ELSEWHERE } from '../wallet-folder.ts';
import { type BackupManifest, readManifest } from './backup-manifest.ts';
import { checkBackup } from './check-backup.ts';
import { type CopyStep, copyBytes } from './copy-file.ts';
import { SETTINGS_FILE } from './create-backup.ts';
import { beginRestore, finishRestore, RESTORE_MARKER, unfinishedRestore } from './restore-marker.ts';

export interface RestoreRequest {
  /** Absolute path of the backup. */
  readonly dir: string;
  /** The directory of the network, which this process has locked. */
  readonly networkDir: string;
  /** Directory that the operator has named for the wallets; null for the folder in that of the network. */
  readonly walletDir: string | null;
  readonly network: string;
  /** Hash of the genesis block, hex in display order. */
  readonly genesisHash: string;
}

export interface RestoreReport {
  readonly networkDir: string;
  readonly files: number;
  readonly bytes: number;
  /** The tip of the restored chain; null where the backup holds none. */
  readonly tip: BackupManifest['tip'];
  /** Whether the directory keeps the chain that it had. */
  readonly keepsChain: boolean;
  /** Path of the restored settings; null where the backup holds none. */
  readonly settings: string | null;
  /** Wallets that were outside of the directory of wallets: where each was, and where it is restored. */
  readonly walletsElsewhere: readonly { readonly was: string; readonly path: string }[];
}

/** The name of the restored settings: the operator compares them with those of this machine. */
const RESTORED_SETTINGS = 'restored-settings.toml';
const CHAIN = 'chain';
/** Files that do not count as data. */
const IGNORED = new Set(['lock', RESTORE_MARKER]);

/** Reads the manifest and refuses a backup of another network. Throws OperatorError. */
export function readManifestFor(dir: string, network: string, genesisHash: string): BackupManifest {
  const manifest = readManifest(dir);
  if (manifest.network !== network)
    throw new OperatorError(
      `${dir} is a backup of the network ${manifest.network}, and the settings name ${network}: add --network ${manifest.network}`,
    );
  if (manifest.genesis !== genesisHash)
    throw new OperatorError(
      `${dir} is a backup of a chain with the genesis block ${manifest.genesis}, not ${genesisHash}`,
    );
  return manifest;
}

/**
 * Checks a backup and then restores it into an empty directory; yields after each chunk. A directory that has only a chain
 * keeps it if the backup holds none. An interrupted restore is continued by the same call, and until then no node starts.
 * Throws OperatorError.
 */
export function* restoreBackup({
  dir,
  networkDir,
  walletDir,
  network,
  genesisHash,
}: RestoreRequest): Generator<CopyStep, RestoreReport> {
  const manifest = readManifestFor(dir, network, genesisHash);
  const keepsChain = assertRestorable(networkDir, manifest);
  const targetOf = (path: string): string => {
    if (path === SETTINGS_FILE) return join(networkDir, RESTORED_SETTINGS);
    const isWallet = walletDir !== null && path.startsWith(`${WALLET_FOLDER}/`);
    return isWallet ? join(walletDir, path.slice(WALLET_FOLDER.length + 1)) : join(networkDir, path);
  };
  const unfinished = unfinishedRestore(networkDir);
  if (unfinished !== null && unfinished.walletDir !== walletDir)
    throw new OperatorError(
      `the interrupted restore into ${networkDir} had ${unfinished.walletDir === null ? 'no wallet.directory' : `the wallet.directory ${unfinished.walletDir}`}: complete it with the same setting`,
    );
  if (walletDir !== null && unfinished === null)
    assertFree(manifest.files.map(({ path }) => targetOf(path)).filter((path) => !isWithin(path, networkDir)));
  const [damage, ...more] = yield* checkBackup(dir, manifest);
  if (damage !== undefined)
    throw new OperatorError(
      `${join(dir, damage.path)}: ${damage.problem}${more.length > 0 ? `, and ${more.length} more files are damaged` : ''}: use another backup; nothing was restored`,
    );
  beginRestore(networkDir, { id: manifest.id, walletDir });
  let settings: string | null = null;
  const walletsElsewhere: { was: string; path: string }[] = [];
  const folders = new Set([networkDir]);
  for (const { path, bytes, sha256 } of manifest.files) {
    const to = targetOf(path);
    if (path === SETTINGS_FILE) settings = to;
    if (path.startsWith(`${WALLETS_ELSEWHERE}/`))
      walletsElsewhere.push({ was: path.slice(WALLETS_ELSEWHERE.length), path: to });
    const top = isWithin(to, networkDir) ? networkDir : dirname(walletDir!);
    for (let folder = dirname(to); folder !== top; folder = dirname(folder)) folders.add(folder);
    mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
    const fd = withDescriptors(() => openSync(join(dir, path), 'r'));
    try {
      if ((yield* copyBytes(fd, bytes, to, () => {})) !== sha256)
        throw new OperatorError(`${join(dir, path)} has changed while it was restored`);
    } finally {
      closeSync(fd);
    }
  }
  for (const folder of folders) syncDirectory(folder);
  finishRestore(networkDir);
  const size = manifest.files.reduce((sum, { bytes }) => sum + bytes, 0);
  const files = manifest.files.length;
  return { networkDir, files, bytes: size, tip: manifest.tip, keepsChain, settings, walletsElsewhere };
}

/** Throws OperatorError where one of the files exists: the directory of wallets may hold those of another node. */
function assertFree(paths: readonly string[]): void {
  const taken = paths.find((path) => existsSync(path));
  if (taken !== undefined)
    throw new OperatorError(
      `${taken} already exists: name another directory with wallet.directory; nothing was restored`,
    );
}

/** Returns whether the directory has a chain that it keeps. Throws OperatorError where it has other data. */
function assertRestorable(networkDir: string, { id, tip }: BackupManifest): boolean {
  const found = readdirSync(networkDir).filter((name) => !IGNORED.has(name));
  const unfinished = unfinishedRestore(networkDir);
  const keepsChain = tip === null && found.includes(CHAIN);
  if (unfinished?.id === id) return keepsChain;
  if (unfinished !== null)
    throw new OperatorError(
      `a restore of another backup into ${networkDir} was interrupted: complete that one, or empty the directory`,
    );
  const data = found.filter((name) => !(name === CHAIN && keepsChain));
  if (data.length > 0)
    throw new OperatorError(
      `${networkDir} is not empty (${data.slice(0, 3).join(', ')}${data.length > 3 ? ', …' : ''}): name an empty data directory with --into`,
    );
  return keepsChain;
}
