import type { Amount } from '../../primitives/amount.ts';
import type { Result } from '../../util/result.ts';

/** Source of the feerate of a transaction. */
export type FeeReason = 'user' | 'estimate' | 'fallback' | 'mempool-min' | 'required';

/** Core's words for it, as its wallet's RPC shows it. */
export const FEE_REASON_TEXTS: Readonly<Record<FeeReason, string>> = {
  user: 'User Specified Fee',
  estimate: 'Fee Rate Estimator',
  fallback: 'Fallback fee',
  'mempool-min': 'Mempool Min Fee',
  required: 'Minimum Required Fee',
};

/** Feerates to choose from, in satoshis per 1,000 vB. */
export interface FeerateSources {
  /** Feerate that the user requested; null if none. */
  readonly user: Amount | null;
  /** Whether that holds whatever the limits say. */
  readonly overrideLimits?: boolean;
  /** Estimate for the confirmation target; 0 if there is none. */
  readonly estimate: Amount;
  /** Fallback feerate; 0 disables it. */
  readonly fallback: Amount;
  readonly mempoolMin: Amount;
  /** Minimum feerate of this wallet. */
  readonly walletMin: Amount;
  /** Minimum relay feerate of the node. */
  readonly relayMin: Amount;
}

export interface ChosenFeerate {
  readonly feerate: Amount;
  readonly reason: FeeReason;
}

export type FeerateChoice = Result<ChosenFeerate, { readonly error: string }>;

const max = (a: Amount, b: Amount): Amount => (a > b ? a : b);

/** Core's GetMinimumFeeRate: what the user asks for, or an estimate, but not below the limits. */
export function minimumFeerate(sources: FeerateSources): ChosenFeerate {
  const required = max(sources.walletMin, sources.relayMin);
  if (sources.user !== null) {
    if (!sources.overrideLimits && required > sources.user) return { feerate: required, reason: 'required' };
    return { feerate: sources.user, reason: 'user' };
  }
  let feerate = sources.estimate;
  let reason: FeeReason = 'estimate';
  if (feerate === 0n) {
    feerate = sources.fallback;
    reason = 'fallback';
    if (feerate === 0n) return { feerate, reason };
  }
  if (feerate < sources.mempoolMin) {
    feerate = sources.mempoolMin;
    reason = 'mempool-min';
  }
  return required > feerate ? { feerate: required, reason: 'required' } : { feerate, reason };
}

/** Returns the feerate, or an error where the user's feerate is not allowed or none is known. */
export function chooseFeerate(sources: FeerateSources): FeerateChoice {
  const chosen = minimumFeerate(sources);
  const { user } = sources;
  if (user !== null && chosen.feerate > user) {
    let error = `Fee rate (${satPerVbText(user)}) is lower than the minimum fee rate setting (${satPerVbText(chosen.feerate)}).`;
    if (chosen.reason === 'required')
      error += `\nConsider modifying -mintxfee (${satPerVbText(sources.walletMin)}) or -minrelaytxfee (${satPerVbText(sources.relayMin)}).`;
    return { ok: false, error };
  }
  if (chosen.reason === 'fallback' && sources.fallback === 0n)
    return {
      ok: false,
      error: 'Fee estimation failed. Fallbackfee is disabled. Wait a few blocks or enable -fallbackfee.',
    };
  return { ok: true, value: chosen };
}

/** Core's GetDiscardRate: change that costs more than this to spend is dropped. `estimate` is that of the furthest target, 0 for none. */
export function discardFeerate(estimate: Amount, walletDiscard: Amount, dustRelay: Amount): Amount {
  const discard = estimate === 0n || estimate > walletDiscard ? walletDiscard : estimate;
  return max(discard, dustRelay);
}

/** Formats a feerate, such as `1.000 sat/vB`. */
function satPerVbText(feerate: Amount): string {
  return `${feerate / 1000n}.${(feerate % 1000n).toString().padStart(3, '0')} sat/vB`;
}
