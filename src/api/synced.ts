import { systemClock, unixSeconds } from '../util/clock.ts';
import type { ApiContext } from './context.ts';
import { headerTime } from './readers/block-facts.ts';
import type { ReadEnv } from './readers/read-env.ts';

/** Whether the node follows the network: initial sync is over, no header is ahead by more than one, the tip is fresh. */
export function isSynced({ options, node }: ApiContext, { tip }: Pick<ReadEnv, 'tip'>): boolean {
  const { initialBlockDownload, headers } = node().status();
  const { maxTipAge } = options.ready;
  const fresh = maxTipAge === 0 || unixSeconds(systemClock) - headerTime(tip) <= maxTipAge;
  return !initialBlockDownload && headers - tip.height <= 1 && fresh;
}
