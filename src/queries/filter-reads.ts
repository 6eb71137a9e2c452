import type { FilterRecord } from '../storage/filter-store.ts';
import { DecodeError } from '../util/bytes.ts';
import type { ReadEnv } from './read-env.ts';

/** Returns the height up to which block filters exist, -1 for none; null where the index is disabled. */
export function filterIndexState({ reads, tip, settings }: ReadEnv): { height: number; synced: boolean } | null {
  if (!settings.filterIndex) return null;
  const height = reads.filters.coveredHeight(tip.height);
  return { height, synced: height === tip.height };
}

/** Returns the bytes of a filter; null where the files are damaged or were removed. */
export function filterBytes({ reads }: ReadEnv, record: FilterRecord): Uint8Array | null {
  try {
    return reads.filters.bytes(record);
  } catch (error) {
    if (error instanceof DecodeError || (error as NodeJS.ErrnoException).code !== undefined) return null;
    throw error;
  }
}
