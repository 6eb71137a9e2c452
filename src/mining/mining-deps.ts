import type { Chain } from '../chain/chain.ts';
import type { Mempool } from '../mempool/pool.ts';
import type { Clock } from '../util/clock.ts';
import type { MiningOptions } from './mining-options.ts';

/** Everything from which blocks are assembled. */
export interface MiningDeps {
  readonly chain: Chain;
  readonly mempool: Mempool;
  readonly clock: Clock;
  /** Limits of templates and blocks; those of Core by default. */
  readonly limits?: MiningOptions;
  /** Version of every block in place of the one with the bits of deployments; for tests of it. */
  readonly blockVersion?: number | null;
}
