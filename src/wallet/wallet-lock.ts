import { closeSync, openSync } from 'node:fs';
import { withDescriptors } from '../util/descriptors.ts';
import { openLibc } from '../util/libc.ts';
import { walletFail } from './wallet-error.ts';
import type { WalletFiles } from './wallet-files.ts';
import type { WalletPlace } from './wallet-places.ts';

const LOCK_EX = 2;
const LOCK_NB = 4;

const openFlock = () => openLibc({ flock: { args: ['i32', 'i32'], returns: 'i32' } });
let libc: ReturnType<typeof openFlock> | undefined;

/**
 * Locks the directory of a wallet, so that no other node opens the same wallet. The kernel releases the lock when the
 * process ends, in whatever way. Returns a function that releases it; null where another process, or another wallet of
 * this one, holds it. The directory itself is locked, not a file in it: closing any descriptor of the wallet's file would
 * release the locks that SQLite holds.
 */
export function lockWalletFolder(folder: string): (() => void) | null {
  libc ??= openFlock();
  // Other systems have no flock under these names.
  if (libc === null) return () => {};
  const fd = withDescriptors(() => openSync(folder, 'r'));
  if (libc.flock(fd, LOCK_EX | LOCK_NB) !== 0) {
    closeSync(fd);
    return null;
  }
  return () => closeSync(fd);
}

/** The locks of the directories of wallets that are open or being opened, by name. */
export class WalletLocks {
  readonly #files: WalletFiles;
  readonly #releases = new Map<string, () => void>();

  constructor(files: WalletFiles) {
    this.#files = files;
  }

  /**
   * Makes the directory of a wallet where it does not exist, and locks it. Returns a function that releases it and removes
   * a directory that was made and has stayed empty. Throws WalletError, as Core does, where another node uses the wallet.
   */
  acquire(name: string, place: WalletPlace): () => void {
    const { folder } = place;
    if (folder === null) return () => {};
    const removeFolder = this.#files.makeFolder(place);
    const undo = () => {
      this.release(name);
      removeFolder();
    };
    try {
      // A link may have taken the place of a directory meanwhile.
      if (this.#files.place(name).folder !== folder)
        walletFail('wallet', 'Wallet file verification failed. The directory has changed.');
      const release = lockWalletFolder(folder);
      if (release === null)
        walletFail(
          'wallet',
          'Wallet file verification failed. SQLiteDatabase: Unable to obtain an exclusive lock on the database, is it being used by another instance of Obverse?',
        );
      this.#releases.set(name, release);
      return undo;
    } catch (error) {
      removeFolder();
      throw error;
    }
  }

  release(name: string): void {
    this.#releases.get(name)?.();
    this.#releases.delete(name);
  }

  releaseAll(): void {
    for (const name of [...this.#releases.keys()]) this.release(name);
  }
}
