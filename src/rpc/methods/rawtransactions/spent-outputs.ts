import type { ParsedTransaction } from '../../../primitives/block.ts';
import type { Txid } from '../../../primitives/hash.ts';
import type { Outpoint } from '../../../primitives/outpoint.ts';
import type { TxOutput } from '../../../primitives/transaction.ts';
import { isIndexReady } from '../../../queries/index-reads.ts';
import type { ReadEnv } from '../../../queries/read-env.ts';
import { BlockPruned } from '../../../storage/chain-reads.ts';

/** Returns an output of the mempool, or an unspent output of the chain; null if there is none. */
export function findOutput({ reads, mempool }: ReadEnv, outpoint: Outpoint): TxOutput | null {
  const waiting = mempool.findEntry(outpoint.txid);
  if (waiting) return waiting.parsed.tx.outputs[outpoint.vout] ?? null;
  return reads.coins.get(outpoint)?.output ?? null;
}

/**
 * Returns a transaction of the active chain or of the mempool; null if there is none, or if its block was pruned. As in
 * Bitcoin Core, the chain is left out without the transaction index.
 */
export function findTransaction(env: ReadEnv, txid: Txid): ParsedTransaction | null {
  const { reads, mempool } = env;
  const record = isIndexReady(env, 'tx') ? reads.txs.byTxid(txid) : null;
  if (record)
    try {
      return reads.transaction(record).parsed;
    } catch (error) {
      if (error instanceof BlockPruned) return null;
      throw error;
    }
  return mempool.findEntry(txid)?.parsed ?? null;
}
