import { signalsOptInRbf } from '../policy/rbf.ts';
import type { Entries } from './entries.ts';
import { ancestorsOf } from './relatives.ts';

/**
 * Whether a transaction of the mempool or one of its ancestors signals replaceability (BIP-125), by which the node does not
 * decide: it replaces any transaction. As Core's IsRBFOptIn.
 */
export function isReplaceableByBip125(entries: Entries, slot: number): boolean {
  return ancestorsOf(entries, slot).some((at) => signalsOptInRbf(entries.parsed(at).tx));
}
