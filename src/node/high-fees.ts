import type { Config } from '../config/settings.ts';
import type { Log } from '../util/log.ts';

/** Core's HIGH_TX_FEE_PER_KB in sat/vB. */
const HIGH_FEERATE = 1000;
/** Core's HIGH_APS_FEE, satoshis. */
const HIGH_GROUPING_FEE = 10_000;
/** Core's HIGH_MAX_TX_FEE, satoshis. */
const HIGH_MAX_FEE = 100_000_000;

/** Warns of fee settings so high that they are probably mistakes, at the values at which Core warns. */
export function warnOfHighFees({ wallet, relay }: Pick<Config, 'wallet' | 'relay'>, log: Log): void {
  const settings = [
    ['wallet.minFeeRate', wallet.minFeeRate, HIGH_FEERATE, 'sat/vB'],
    ['wallet.avoidPartialSpendsMaxFee', wallet.avoidPartialSpendsMaxFee, HIGH_GROUPING_FEE, 'sat'],
    ['wallet.fallbackFee', wallet.fallbackFee ?? 0, HIGH_FEERATE, 'sat/vB'],
    ['wallet.discardFeeRate', wallet.discardFeeRate, HIGH_FEERATE, 'sat/vB'],
    ['wallet.maxFee', wallet.maxFee, HIGH_MAX_FEE, 'sat'],
    ['relay.minFeeRate', relay.minFeeRate ?? 0, HIGH_FEERATE, 'sat/vB'],
  ] as const;
  for (const [setting, value, high, unit] of settings)
    if (value > high) log.warn('a fee setting is very high', { setting, value, unit, usual: `at most ${high}` });
}
