import type { Config } from '../config/settings.ts';
import type { SpendPolicy } from '../wallet/spend/spend-policy.ts';

/** Returns the operator's choices for transactions of wallets. */
export function spendPolicyOf({ wallet }: Pick<Config, 'wallet'>): SpendPolicy {
  return {
    minFeerate: perKvB(wallet.minFeeRate),
    discardFeerate: perKvB(wallet.discardFeeRate),
    consolidateFeerate: perKvB(wallet.consolidateFeeRate),
    maxFee: BigInt(wallet.maxFee),
    confirmTarget: wallet.confirmTarget,
    avoidPartialSpends: wallet.avoidPartialSpends,
    avoidPartialSpendsMaxFee: BigInt(wallet.avoidPartialSpendsMaxFee),
    spendUnconfirmedChange: wallet.spendUnconfirmedChange,
    rejectLongChains: wallet.rejectLongChains,
    chainLimits: { ancestors: wallet.maxAncestors, descendants: wallet.maxDescendants },
    replaceable: wallet.replaceable,
    broadcast: wallet.broadcast,
  };
}

function perKvB(satPerVb: number): bigint {
  return BigInt(Math.round(satPerVb * 1000));
}
