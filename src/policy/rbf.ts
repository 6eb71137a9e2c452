import { moneyText } from '../consensus/money-text.ts';
import type { Amount } from '../primitives/amount.ts';
import { hashToHex, type Txid } from '../primitives/hash.ts';
import type { Transaction } from '../primitives/transaction.ts';
import { feeForSize } from './feerate.ts';

/** BIP-125: a sequence up to this one says that the transaction may be replaced. */
export const MAX_BIP125_RBF_SEQUENCE = 0xffff_fffd;
/** Clusters that one replacement may touch, which bounds the work of judging it. */
const MAX_REPLACEMENT_CANDIDATES = 100;

/** BIP-125: whether the transaction itself says that it may be replaced. Replacing is allowed either way. */
export function signalsOptInRbf({ inputs }: Pick<Transaction, 'inputs'>): boolean {
  return inputs.some(({ sequence }) => sequence <= MAX_BIP125_RBF_SEQUENCE);
}

/** Null, or why a replacement touches too many clusters of the mempool. */
export function checkReplacementClusters(txid: Txid, clusters: number): string | null {
  if (clusters <= MAX_REPLACEMENT_CANDIDATES) return null;
  const count = `${clusters} > ${MAX_REPLACEMENT_CANDIDATES}`;
  return `rejecting replacement ${hashToHex(txid)}; too many conflicting clusters (${count})`;
}

export interface ReplacementFees {
  /** Named in the message. */
  readonly txid: Txid;
  /** Modified fees of all that would be replaced. */
  readonly originalFees: Amount;
  /** Modified fees of what would replace them. */
  readonly replacementFees: Amount;
  readonly replacementVsize: number;
  /** Satoshis per 1,000 vB. */
  readonly incrementalFeerate: Amount;
}

/**
 * Null, or why the fees do not do: the replacement has to pay at least what those it replaces paid, and its own relay
 * on top, or the network would carry replacements for nothing.
 */
export function paysForReplacement(fees: ReplacementFees): string | null {
  const { txid, originalFees, replacementFees, replacementVsize, incrementalFeerate } = fees;
  const rejecting = `rejecting replacement ${hashToHex(txid)}`;
  if (replacementFees < originalFees)
    return `${rejecting}, less fees than conflicting txs; ${moneyText(replacementFees)} < ${moneyText(originalFees)}`;
  const additional = replacementFees - originalFees;
  const needed = feeForSize(incrementalFeerate, replacementVsize);
  if (additional < needed)
    return `${rejecting}, not enough additional fees to relay; ${moneyText(additional)} < ${moneyText(needed)}`;
  return null;
}
