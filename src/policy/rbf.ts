import { moneyText } from '../consensus/money-text.ts';
import type { Amount } from '../primitives/amount.ts';
import { hashToHex, type Txid } from '../primitives/hash.ts';
import type { Transaction } from '../primitives/transaction.ts';
import { feeForSize } from './feerate.ts';

/** BIP-125: a sequence up to this one signals that the transaction may be replaced. */
export const MAX_BIP125_RBF_SEQUENCE = 0xffff_fffd;
/** Maximum number of clusters that a replacement may affect, which bounds the work of validating it. */
const MAX_REPLACEMENT_CANDIDATES = 100;

/** Whether a transaction signals replaceability (BIP-125). Replacing does not depend on it. */
export function signalsOptInRbf({ inputs }: Pick<Transaction, 'inputs'>): boolean {
  return inputs.some(({ sequence }) => sequence <= MAX_BIP125_RBF_SEQUENCE);
}

/** Returns Core's message if a replacement conflicts with too many clusters of the mempool, or null. */
export function checkReplacementClusters(txid: Txid, clusters: number): string | null {
  if (clusters <= MAX_REPLACEMENT_CANDIDATES) return null;
  const count = `${clusters} > ${MAX_REPLACEMENT_CANDIDATES}`;
  return `rejecting replacement ${hashToHex(txid)}; too many conflicting clusters (${count})`;
}

export interface ReplacementFees {
  /** Txid of the replacement, for the message. */
  readonly txid: Txid;
  /** Modified fees of all transactions that would be replaced, satoshis. */
  readonly originalFees: Amount;
  /** Modified fees of the replacement transactions, satoshis. */
  readonly replacementFees: Amount;
  readonly replacementVsize: number;
  /** Feerate in satoshis per 1,000 vB. */
  readonly incrementalFeerate: Amount;
}

/**
 * Returns Core's message if the fees are too low, or null: a replacement must pay at least the fees of the replaced
 * transactions, and for its own relay on top (BIP-125 rules 3 and 4).
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
