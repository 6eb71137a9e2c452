import { FEE_TARGETS, type FeeReport } from '../../mempool/fees/fee-estimator.ts';

/**
 * Returns the recommended feerates in sat/vB. `minFeerate` is the lowest feerate that the mempool accepts at present,
 * satoshis per 1,000 virtual bytes.
 */
export function feesView(
  report: FeeReport | null,
  minFeerate: number,
  tip: { readonly height: number; readonly hash: string },
  now: number,
) {
  const at = (target: number) => {
    const found = report?.rates.findLast((rate) => rate.target <= target);
    return Math.max(found?.feerate ?? 0, minFeerate) / 1000;
  };
  return {
    fastest: at(1),
    halfHour: at(3),
    hour: at(6),
    economy: at(144),
    minimum: minFeerate / 1000,
    estimator: report?.rates[0]?.estimator ?? 'floor',
    targets: Object.fromEntries(FEE_TARGETS.map((target) => [target, at(target)])),
    tip,
    updatedAt: report?.at ?? now,
  };
}
