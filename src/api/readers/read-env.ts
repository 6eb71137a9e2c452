import type { NetworkParams } from '../../params/network-params.ts';
import type { ChainReads } from '../../storage/chain-reads.ts';
import type { HeaderRecord } from '../../storage/header-store.ts';
import type { ReadSettings } from './read-settings.ts';

/** What an answer is read from: one snapshot, its tip, and what never changes while the node runs. */
export interface ReadEnv {
  readonly reads: ChainReads;
  readonly tip: HeaderRecord;
  readonly params: NetworkParams;
  readonly settings: ReadSettings;
  /**
   * Says what the work ahead will take. On the front anything that would hold it up is given up here, and the whole
   * answer is made again by a reader worker.
   */
  expectWork(microseconds: number): void;
}

/** Thrown by `expectWork` on the front. */
export class NeedsWorker extends Error {
  override readonly name = 'NeedsWorker';
}

/** The front answers what takes no longer than this. */
const FRONT_BUDGET_US = 1500;

/** Runs `read` on one state of the database. `onFront` bounds the work it may announce. */
export function withSnapshot<T>(
  base: Pick<ReadEnv, 'reads' | 'params' | 'settings'>,
  onFront: boolean,
  read: (env: ReadEnv) => T,
): T {
  return base.reads.snapshot(() => {
    let left = FRONT_BUDGET_US;
    const expectWork = (microseconds: number) => {
      left -= microseconds;
      if (onFront && left < 0) throw new NeedsWorker('too much work for the front');
    };
    return read({ ...base, tip: base.reads.tip(), expectWork });
  });
}
