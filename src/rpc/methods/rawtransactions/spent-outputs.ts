import type { ParsedTransaction } from '../../../primitives/block.ts';
import { hashToHex, type Txid } from '../../../primitives/hash.ts';
import type { Outpoint } from '../../../primitives/outpoint.ts';
import type { TxOutput } from '../../../primitives/transaction.ts';
import type { ReadEnv } from '../../../queries/read-env.ts';

const HASH_SIZE = 32;

/** Returns an output of the mempool, or an unspent output of the chain; null if there is none. */
export function findOutput({ reads, mempool }: ReadEnv, outpoint: Outpoint): TxOutput | null {
  const waiting = mempool.findEntry(outpoint.txid);
  if (waiting) return waiting.parsed.tx.outputs[outpoint.vout] ?? null;
  return reads.coins.get(outpoint)?.output ?? null;
}

/** Returns a transaction of the active chain or of the mempool; null if there is none. */
export function findTransaction({ reads, mempool }: ReadEnv, txid: Txid): ParsedTransaction | null {
  const record = reads.txs.byTxid(txid);
  if (record) return reads.transaction(record).parsed;
  return mempool.findEntry(txid)?.parsed ?? null;
}

/** Returns the distinct txids of outpoints, packed. */
export function spentTxids(prevouts: readonly Outpoint[]): Uint8Array {
  return packTxids(new Map(prevouts.map(({ txid }) => [hashToHex(txid), txid])));
}

/** Packs the txids of a map into one byte array. */
export function packTxids(unique: ReadonlyMap<string, Txid>): Uint8Array {
  const txids = new Uint8Array(unique.size * HASH_SIZE);
  let at = 0;
  for (const txid of unique.values()) {
    txids.set(txid, at);
    at += HASH_SIZE;
  }
  return txids;
}

/** Returns the mempool slots of packed txids. */
export function mempoolSlotsOf({ mempool }: ReadEnv, txids: Uint8Array): number[] {
  const slots: number[] = [];
  for (let at = 0; at < txids.length; at += HASH_SIZE) {
    const slot = mempool.entries.find(txids.subarray(at, at + HASH_SIZE) as Txid);
    if (slot >= 0) slots.push(slot);
  }
  return slots;
}
