import type { ParsedTransaction } from '../../../primitives/block.ts';
import type { Txid } from '../../../primitives/hash.ts';
import type { Outpoint } from '../../../primitives/outpoint.ts';
import type { TxOutput } from '../../../primitives/transaction.ts';
import type { ReadEnv } from '../../../queries/read-env.ts';
import { BlockPruned } from '../../../storage/chain-reads.ts';

/** Returns an output of the mempool, or an unspent output of the chain; null if there is none. */
export function findOutput({ reads, mempool }: ReadEnv, outpoint: Outpoint): TxOutput | null {
  const waiting = mempool.findEntry(outpoint.txid);
  if (waiting) return waiting.parsed.tx.outputs[outpoint.vout] ?? null;
  return reads.coins.get(outpoint)?.output ?? null;
}

/** Returns a transaction of the active chain or of the mempool; null if there is none, or if its block was pruned. */
export function findTransaction({ reads, mempool }: ReadEnv, txid: Txid): ParsedTransaction | null {
  const record = reads.txs.byTxid(txid);
  if (record)
    try {
      return reads.transaction(record).parsed;
    } catch (error) {
      if (error instanceof BlockPruned) return null;
      throw error;
    }
  return mempool.findEntry(txid)?.parsed ?? null;
}
