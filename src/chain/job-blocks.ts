import type { StoredBlock } from '../indexes/job-block-reader.ts';
import { type ChainEntry, forkPoint } from './chain-entry.ts';

/** Limits of one job of a background build, which bound its memory and the time of its transaction. */
const JOB_BYTES = 24 * 1024 * 1024;
export const JOB_BLOCKS = 4000;

/** Returns blocks from `covered` down to the active chain that ends at `tip`, the highest first. */
export function staleEntries(covered: ChainEntry, tip: ChainEntry, limit: number): ChainEntry[] {
  const fork = forkPoint(covered, tip);
  const entries: ChainEntry[] = [];
  let bytes = 0;
  for (let at = covered; at !== fork && entries.length < limit && bytes < JOB_BYTES; at = at.parent!) {
    entries.push(at);
    bytes += at.body.size;
  }
  return entries;
}

/** Returns blocks behind `from` up to `to` that are stored with their undo data, the lowest first. */
export function nextEntries(from: ChainEntry | null, to: ChainEntry, limit: number): ChainEntry[] {
  const entries: ChainEntry[] = [];
  let bytes = 0;
  for (let height = (from?.height ?? -1) + 1; height <= to.height; height++) {
    const entry = to.ancestor(height)!;
    if (!entry.hasBody || !entry.hasUndo || entries.length >= limit || bytes >= JOB_BYTES) break;
    entries.push(entry);
    bytes += entry.body.size;
  }
  return entries;
}

/** Returns a block as a job names it. */
export function storedBlock({ hash, height, body, undo }: ChainEntry, segwitHeight: number): StoredBlock {
  return { hash, height, body, undo, segwit: height >= segwitHeight };
}
