import type { Chain } from '../chain/chain.ts';
import type { Mempool } from '../mempool/pool.ts';
import type { Clock } from '../util/clock.ts';

/** Everything from which blocks are assembled. */
export interface MiningDeps {
  readonly chain: Chain;
  readonly mempool: Mempool;
  readonly clock: Clock;
  /** Version of every block in place of the one with the bits of deployments; for tests of it. */
  readonly blockVersion?: number | null;
}
