import {
  closeSync,
  createReadStream,
  createWriteStream,
  lstatSync,
  openSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { WALLET_FILE } from '../storage/wallet-folder.ts';
import { withDescriptors } from '../util/descriptors.ts';
import { syncFile } from '../util/sync-directory.ts';
import { publishFile } from './publish-file.ts';
import { walletFail } from './wallet-error.ts';
import { PART_SUFFIX } from './wallet-files.ts';
import { lockWalletFolder } from './wallet-lock.ts';
import { unrecognized, type WalletPlace } from './wallet-places.ts';

const SQLITE_MAGIC = 'SQLite format 3\0';

/**
 * Copies a backup to the place of a wallet, which has no file yet. Throws WalletError where the backup is no database, is
 * the file of a wallet in use, or was not closed, and where a file appears at the place meanwhile.
 */
export async function restoreFile(backup: string, place: WalletPlace): Promise<void> {
  // A wallet that another node has open is not copied: its file lacks what the log beside it has.
  const release = basename(backup) === WALLET_FILE ? lockWalletFolder(dirname(backup)) : () => {};
  if (release === null) inUse();
  const part = `${place.path}.${crypto.randomUUID()}${PART_SUFFIX}`;
  try {
    if ((lstatSync(`${backup}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) inUse();
    if (place.folder !== null && !isDatabase(backup))
      walletFail('walletNotFound', `Wallet file verification failed. ${unrecognized(place.shown)}`);
    await pipeline(createReadStream(backup), createWriteStream(part, { flags: 'wx', mode: 0o600 }));
    syncFile(part);
    if (!publishFile(part, place.path)) restoredExists(place);
  } finally {
    rmSync(part, { force: true });
    release();
  }
}

/** Throws WalletError: a backup never replaces the file of a wallet. */
export function restoredExists({ path, folder, shown }: WalletPlace): never {
  const named = folder === null ? path : `${shown}/${WALLET_FILE}`;
  return walletFail('walletAlreadyExists', `Failed to restore wallet. Database file exists in '${named}'.`);
}

/** Throws WalletError: the file of a wallet in use is copied by its node alone. */
export function inUse(): never {
  return walletFail(
    'wallet',
    'Wallet file verification failed. The backup is the file of a wallet in use, or of one that was not closed: write a backup with backupwallet.',
  );
}

function isDatabase(path: string): boolean {
  // The thread would wait for a writer where the path is a named pipe.
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return false;
  const fd = withDescriptors(() => openSync(path, 'r'));
  try {
    const bytes = new Uint8Array(SQLITE_MAGIC.length);
    return readSync(fd, bytes) === bytes.length && Buffer.from(bytes).toString('latin1') === SQLITE_MAGIC;
  } finally {
    closeSync(fd);
  }
}
