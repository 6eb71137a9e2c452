import type { ParsedTransaction } from '../../../primitives/block.ts';
import { hashToHex, type Txid } from '../../../primitives/hash.ts';
import type { Outpoint } from '../../../primitives/outpoint.ts';
import type { TxOutput } from '../../../primitives/transaction.ts';
import type { ReadEnv } from '../../../queries/read-env.ts';

const HASH_SIZE = 32;

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

/** The txids of these one behind the other, each once. */
export function spentTxids(prevouts: readonly Outpoint[]): Uint8Array {
  return packTxids(new Map(prevouts.map(({ txid }) => [hashToHex(txid), txid])));
}

/** Txids, by whatever key, one behind the other. */
export function packTxids(unique: ReadonlyMap<string, Txid>): Uint8Array {
  const txids = new Uint8Array(unique.size * HASH_SIZE);
  let at = 0;
  for (const txid of unique.values()) {
    txids.set(txid, at);
    at += HASH_SIZE;
  }
  return txids;
}

/** The slots of the mempool that hold transactions of `packTxids`. */
export function slotsOf({ mempool }: ReadEnv, txids: Uint8Array): number[] {
  const slots: number[] = [];
  for (let at = 0; at < txids.length; at += HASH_SIZE) {
    const slot = mempool.entries.find(txids.subarray(at, at + HASH_SIZE) as Txid);
    if (slot >= 0) slots.push(slot);
  }
  return slots;
}
