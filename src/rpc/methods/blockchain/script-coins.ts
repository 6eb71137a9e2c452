import type { TxPosition } from '../../../primitives/coin.ts';
import type { Txid } from '../../../primitives/hash.ts';
import { addressIndexOf, isIndexReady } from '../../../queries/index-reads.ts';
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

/** Yields the unspent outputs of all scripts, given as hex: by means of the address index, or by reading all coins. */
export function* coinsOfScripts(env: ReadEnv, scripts: ReadonlyMap<string, Uint8Array>): Generator<FoundCoin> {
  if (isIndexReady(env, 'address')) {
    for (const script of scripts.values()) yield* coinsOfScript(env, script);
    return;
  }
  const { reads, expectWork } = env;
  expectWork(reads.headers.totals(env.tip.height)!.utxos);
  let read = 0;
  for (const { outpoint, output, position } of reads.coins.all()) {
    if (++read % BATCH === 0) expectWork(0);
    const script = scripts.get(output.scriptPubKey.toHex());
    if (script !== undefined) yield { ...outpoint, value: Number(output.value), position, script };
  }
}

/** Yields the unspent outputs of a script in the order of the chain, by means of the address index. Throws as `requireIndex` does. */
export function* coinsOfScript(env: ReadEnv, script: Uint8Array): Generator<FoundCoin> {
  const { reads, expectWork } = env;
  const totals = addressIndexOf(env).totals(script);
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
