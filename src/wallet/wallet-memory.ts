import { existsSync } from 'node:fs';
import { OperatorError } from '../util/operator-error.ts';

/** Names that one error message lists. */
const SHOWN_NAMES = 20;

/** The wallets that this node has had, stored outside of their directory. */
export interface WalletMemory {
  /** Maps each name to whether the wallet was loaded and has not been unloaded since. */
  all(): ReadonlyMap<string, boolean>;
  remember(name: string, inUse: boolean): void;
  forget(name: string): void;
}

/**
 * Throws OperatorError if there were wallets and their directory is gone: a new wallet in its place would look like an
 * empty one.
 */
export function checkWalletDirectory(dir: string, known: ReadonlyMap<string, boolean>): void {
  if (known.size === 0 || existsSync(dir)) return;
  const names = [...known.keys()];
  const shown = names.length > SHOWN_NAMES ? `${names.slice(0, SHOWN_NAMES).join(', ')}, …` : names.join(', ');
  throw new OperatorError(
    `${dir} is gone, but this node had wallets (${shown}): put the folder back; to restore backups, make an empty folder and start again; to do without them, run "obverse forget-wallet NAME…" with these names`,
  );
}
