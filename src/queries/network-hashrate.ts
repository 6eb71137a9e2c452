import { fail } from '../http/errors.ts';
import type { HeaderRecord } from '../storage/header-store.ts';
import { headerTime } from './block-facts.ts';
import type { ReadEnv } from './read-env.ts';

/**
 * Returns hashes per second over the `lookup` blocks up to a block of the active chain: their work divided by their
 * time.
 */
export function networkHashrate({ reads }: Pick<ReadEnv, 'reads'>, end: HeaderRecord, lookup: number): number {
  if (end.height === 0) return 0;
  const span = Math.min(lookup, end.height);
  const blocks = reads.headers.range(end.height - span, span + 1);
  const times = blocks.map(headerTime);
  const seconds = Math.max(...times) - Math.min(...times);
  const first = blocks[0] ?? fail('internal_error');
  return seconds === 0 ? 0 : Number(end.chainwork - first.chainwork) / seconds;
}
