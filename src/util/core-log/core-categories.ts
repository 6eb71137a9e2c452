import type { LogCategory } from '../log-levels.ts';

/** Our category of the lines that Core has in one of its own. */
const CATEGORIES = new Map<string, LogCategory>([
  ['net', 'p2p'],
  ['addrman', 'p2p'],
  ['tor', 'p2p'],
  ['i2p', 'p2p'],
  ['proxy', 'p2p'],
  ['cmpctblock', 'p2p'],
  ['mempoolrej', 'p2p'],
  ['txreconciliation', 'p2p'],
  ['privatebroadcast', 'p2p'],
  ['txpackages', 'p2p'],
  ['validation', 'chain'],
  ['prune', 'chain'],
  ['blockstorage', 'storage'],
  ['walletdb', 'wallet'],
  ['rpc', 'http'],
]);

/** Returns our category for one of Core's names; null where no lines of ours belong to it. */
export function categoryOfCore(name: string): LogCategory | null {
  return CATEGORIES.get(name) ?? null;
}
