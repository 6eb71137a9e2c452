import type { BodyStats } from '../storage/header-store.ts';
import type { ChainEntry } from './chain-entry.ts';

/** A body that arrived since the last commit. */
export interface NewBody {
  readonly entry: ChainEntry;
  readonly stats: BodyStats;
  /** Unix seconds. */
  readonly receivedAt: number;
}

/** Headers and bodies that arrived, and statuses that changed, since the last commit. */
export interface TreeChange {
  readonly headers: ChainEntry[];
  readonly bodies: NewBody[];
  readonly statuses: Set<ChainEntry>;
}

export function emptyTreeChange(): TreeChange {
  return { headers: [], bodies: [], statuses: new Set() };
}

export function isEmptyTreeChange({ headers, bodies, statuses }: TreeChange): boolean {
  return headers.length + bodies.length + statuses.size === 0;
}

export function mergeTreeChanges(earlier: TreeChange, later: TreeChange): TreeChange {
  return {
    headers: [...earlier.headers, ...later.headers],
    bodies: [...earlier.bodies, ...later.bodies],
    statuses: earlier.statuses.union(later.statuses),
  };
}
