import type { ParsedTransaction } from '../../primitives/block.ts';
import type { Txid } from '../../primitives/hash.ts';
import type { Outpoint } from '../../primitives/outpoint.ts';
import type { TxOutput } from '../../primitives/transaction.ts';
import type { ReadEnv } from '../readers/read-env.ts';

/** An output of the mempool or of the chain that no block has spent; null where there is none. */
export function findOutput({ reads, mempool }: ReadEnv, outpoint: Outpoint): TxOutput | null {
  const waiting = mempool.find(outpoint.txid);
  if (waiting) return waiting.parsed.tx.outputs[outpoint.vout] ?? null;
  return reads.coins.get(outpoint)?.output ?? null;
}

/** A transaction of the active chain or of the mempool; null where there is none. */
export function findTransaction({ reads, mempool }: ReadEnv, txid: Txid): ParsedTransaction | null {
  const record = reads.txs.byTxid(txid);
  if (record) return reads.transaction(record).parsed;
  return mempool.find(txid)?.parsed ?? null;
}

/** The slots of the mempool in which there is what these inputs spend, for a worker. */
export function slotsOf({ mempool }: ReadEnv, prevouts: readonly Outpoint[]): number[] {
  return prevouts.map(({ txid }) => mempool.entries.find(txid)).filter((slot) => slot >= 0);
}
