import { downloadAgainAdvice, syncAgainAdvice } from '../storage/chain-folder.ts';
import { OperatorError } from '../util/operator-error.ts';
import type { ChainStore } from './chain-store.ts';

/**
 * Stores from which height on segwit is active, and throws OperatorError where blocks of the active chain were stored
 * before it was active at their height (Core's NeedsRedownload): their witnesses were neither requested nor validated
 * (BIP-141). The height changes only with `consensus.testActivationHeight`. `tipHeight` is null before the first commit.
 * A database of an earlier version has no stored height, and is trusted.
 */
export function checkSegwitHeight(
  store: ChainStore,
  dir: string,
  segwitHeight: number,
  tipHeight: number | null,
): void {
  const stored = store.storedSegwitHeight;
  if (stored === segwitHeight) return;
  if (stored !== null && segwitHeight < stored && tipHeight !== null && tipHeight >= segwitHeight) {
    const advice = store.removal.pruneHeight === null ? syncAgainAdvice(dir) : downloadAgainAdvice(dir);
    throw new OperatorError(
      `consensus.testActivationHeight: witness data of the blocks from height ${segwitHeight} on requires validation, since segwit was active from height ${stored} on when they were stored. Set segwit@${stored} again, or ${advice}`,
      { isOfSettings: true },
    );
  }
  store.storeSegwitHeight(segwitHeight);
}
