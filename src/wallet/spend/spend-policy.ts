import type { Amount } from '../../primitives/amount.ts';
import type { ChainLimits } from '../coin-selection/select-coins.ts';

/** The operator's choices for transactions of wallets. Feerates are satoshis per 1,000 vB, amounts satoshis. */
export interface SpendPolicy {
  /** Minimum feerate of a transaction (Core's -mintxfee). */
  readonly minFeerate: Amount;
  /** Change that costs more than its value at this feerate goes to the fee (Core's -discardfee). */
  readonly discardFeerate: Amount;
  /** Feerate below which a transaction prefers more inputs, since later ones cost more (Core's -consolidatefeerate). */
  readonly consolidateFeerate: Amount;
  /** Limit of the fee of one transaction (Core's -maxtxfee). */
  readonly maxFee: Amount;
  /** Confirmation target in blocks where the caller names none (Core's -txconfirmtarget). */
  readonly confirmTarget: number;
  /** Whether all coins of an address are spent together (Core's -avoidpartialspends). */
  readonly avoidPartialSpends: boolean;
  /** Additional fee for which a transaction avoids partial spends anyway; negative for never (Core's -maxapsfee). */
  readonly avoidPartialSpendsMaxFee: Amount;
  /** Whether unconfirmed change of the wallet's own is spent and counts as trusted (Core's -spendzeroconfchange). */
  readonly spendUnconfirmedChange: boolean;
  /** Whether a transaction that exceeds the limits of the mempool is an error (Core's -walletrejectlongchains). */
  readonly rejectLongChains: boolean;
  /** Longest chains of unconfirmed transactions that coin selection prefers. */
  readonly chainLimits: ChainLimits;
  /** Whether transactions signal replaceability where the caller makes no choice (BIP-125, Core's -walletrbf). */
  readonly replaceable: boolean;
  /** Whether transactions are submitted to the mempool (Core's -walletbroadcast). */
  readonly broadcast: boolean;
}
