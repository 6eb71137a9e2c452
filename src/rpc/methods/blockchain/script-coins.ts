import type { TxPosition } from '../../../primitives/coin.ts';
import type { Txid } from '../../../primitives/hash.ts';
import type { ReadEnv } from '../../../queries/read-env.ts';

/** Microseconds to look up an unspent output by its script. */
const COIN_US = 15;
/** Outputs per query of the database. */
const BATCH = 1000;

/** An unspent output of the chain. */
export interface FoundCoin {
  readonly txid: Txid;
  readonly vout: number;
  readonly value: number;
  readonly position: TxPosition;
  readonly script: Uint8Array;
}

/** Yields the unspent outputs of a script in the order of the chain, by means of the address index. */
export function* coinsOfScript({ reads, expectWork }: ReadEnv, script: Uint8Array): Generator<FoundCoin> {
  const totals = reads.scripts.totals(script);
  if (totals === null) return;
  expectWork(totals.utxos * COIN_US);
  for (let after = { position: -1, vout: 0 }; ; ) {
    expectWork(0);
    const coins = reads.scripts.coins(totals.key, after, BATCH);
    for (const { position, vout, value } of coins) {
      const { txid } = reads.txs.byPosition(position)!;
      yield { txid, vout, value, position, script };
    }
    const last = coins.at(-1);
    if (coins.length < BATCH || !last) return;
    after = last;
  }
}
