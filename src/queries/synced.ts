import { systemClock, unixSeconds } from '../util/clock.ts';
import type { ApiContext } from './api-context.ts';
import { headerTime } from './block-facts.ts';
import type { ReadEnv } from './read-env.ts';

/** Whether the node is synced: initial block download is over, at most one header is ahead, and the tip is recent. */
export function isSynced(ctx: Pick<ApiContext, 'options' | 'node'>, { tip }: Pick<ReadEnv, 'tip'>): boolean {
  return isSyncedAt(ctx, { height: tip.height, time: headerTime(tip) });
}

/** Whether a tip of this height and time means that the node is synced. */
export function isSyncedAt(
  { options, node }: Pick<ApiContext, 'options' | 'node'>,
  tip: { readonly height: number; readonly time: number },
): boolean {
  const { initialBlockDownload, headers } = node().status();
  const { maxTipAge } = options.ready;
  const fresh = maxTipAge === 0 || unixSeconds(systemClock) - tip.time <= maxTipAge;
  return !initialBlockDownload && headers - tip.height <= 1 && fresh;
}
