import { sleep } from '../util/abort.ts';
import type { WalletStore } from './store/wallet-store.ts';

/** Pause between two attempts while a reader needs the unencrypted keys, milliseconds. */
const RETRY_MS = 20;
/** Limit of the attempts: 30 s in all. */
const MAX_ATTEMPTS = 1500;

/**
 * Overwrites the unencrypted keys in the file and its WAL as soon as no reader needs them. `onTimeout` is called if a
 * reader does not end.
 */
export async function overwritePlainKeys(
  store: WalletStore,
  onTimeout: () => void,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 0; !store.truncateWal(); attempt++) {
    if (attempt === MAX_ATTEMPTS) return onTimeout();
    await sleep(RETRY_MS, signal);
  }
}

/** Overwrites unencrypted keys that a crash after they were sealed has left in the file. */
export function overwriteLeftPlainKeys(store: WalletStore): void {
  try {
    store.truncateWal();
  } catch {
    // On a full disk the WAL stays, and the next start tries again.
  }
}
