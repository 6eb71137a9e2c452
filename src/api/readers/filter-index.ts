import type { ReadEnv } from './read-env.ts';

/** How far the filters of blocks reach, -1 before the first; null where the index is switched off. */
export function filterIndexState({ reads, tip, settings }: ReadEnv): { height: number; synced: boolean } | null {
  if (!settings.filterIndex) return null;
  const height = reads.filters.coveredHeight(tip.height);
  return { height, synced: height === tip.height };
}
