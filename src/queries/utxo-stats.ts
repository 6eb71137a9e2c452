import { bogoSize, encodeSetElement, setHasher, type UtxoHashType } from '../storage/utxo-hash.ts';
import { ByteWriter, equalBytes } from '../util/bytes.ts';
import type { ReadEnv } from './read-env.ts';

export interface UtxoStats {
  readonly txouts: number;
  /** Number of transactions with unspent outputs. */
  readonly transactions: number;
  readonly bogosize: number;
  readonly diskSize: number;
  readonly totalAmount: bigint;
  /** Wire order; null for `none`. */
  readonly hash: Uint8Array | null;
}

/** Size of key, position and value of a stored coin. */
const ROW_OVERHEAD = 36 + 8 + 8;
const CHECK_EVERY = 1024;

/** Scans all unspent outputs, which takes minutes on main. */
export function utxoStats({ reads, tip, expectWork }: ReadEnv, type: UtxoHashType): UtxoStats {
  const cost = type === 'muhash' ? 20 : 3;
  expectWork((reads.headers.totals(tip.height)?.utxos ?? 0) * cost);
  const hasher = setHasher(type);
  // An unspent script has at most 10,000 bytes.
  const w = new ByteWriter(16_384);
  let txouts = 0;
  let transactions = 0;
  let bogosize = 0;
  let diskSize = 0;
  let totalAmount = 0n;
  let lastTxid = new Uint8Array(0);
  for (const coin of reads.coins.all()) {
    if (++txouts % CHECK_EVERY === 0) expectWork(0);
    if (!equalBytes(coin.outpoint.txid, lastTxid)) {
      transactions++;
      lastTxid = coin.outpoint.txid.slice();
    }
    bogosize += bogoSize(coin.output.scriptPubKey.length);
    diskSize += ROW_OVERHEAD + coin.output.scriptPubKey.length;
    totalAmount += coin.output.value;
    if (hasher) {
      w.reset();
      encodeSetElement(w, coin);
      hasher.add(w.finish());
    }
  }
  return { txouts, transactions, bogosize, diskSize, totalAmount, hash: hasher?.digest() ?? null };
}
