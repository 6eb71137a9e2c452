import { type ChainEntry, forkPoint } from './chain-entry.ts';
import type { HeaderTree } from './header-tree.ts';

/** How far a branch was checked, in Core's words. */
export type ChainTipStatus = 'active' | 'invalid' | 'headers-only' | 'valid-headers' | 'valid-fork';

export interface ChainTip {
  readonly entry: ChainEntry;
  /** Blocks between the tip and the active chain. */
  readonly branchLength: number;
  readonly status: ChainTipStatus;
}

/** The active tip and the end of every other branch, the highest first. */
export function chainTips(tree: HeaderTree, active: ChainEntry): ChainTip[] {
  const ends = tree.leaves().filter((entry) => active.ancestor(entry.height) !== entry);
  return [active, ...ends]
    .sort((a, b) => b.height - a.height)
    .map((entry) => ({
      entry,
      branchLength: entry.height - forkPoint(entry, active).height,
      status: tipStatus(entry, active),
    }));
}

function tipStatus(entry: ChainEntry, active: ChainEntry): ChainTipStatus {
  if (entry === active) return 'active';
  if (entry.failed) return 'invalid';
  if (!entry.complete) return 'headers-only';
  // It was connected once, and left for a chain with more work.
  return entry.hasUndo ? 'valid-fork' : 'valid-headers';
}
