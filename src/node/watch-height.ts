import type { Chain } from '../chain/chain.ts';
import type { Log } from '../util/log.ts';

export interface HeightWatchDeps {
  readonly log: Log;
  /** Called once. */
  readonly reached: () => void;
}

/** Calls `reached` after the first commit whose tip has the height, or at once where the chain already has it. */
export function watchHeight(
  chain: Pick<Chain, 'tip' | 'onCommit'>,
  height: number,
  { log, reached }: HeightWatchDeps,
): void {
  let isDone = false;
  const check = (tip: { readonly height: number }): void => {
    if (isDone || tip.height < height) return;
    isDone = true;
    log.info('the node stops, since the chain has the height of chain.stopAtHeight', { height: tip.height });
    reached();
  };
  chain.onCommit(({ tip }) => check(tip));
  check(chain.tip);
}
