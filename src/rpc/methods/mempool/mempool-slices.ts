import { slicePauses } from '../../../http/slice-pauses.ts';
import { chunksOfCluster, clusterOf, type MempoolChunk } from '../../../mempool/relatives.ts';
import type { Txid } from '../../../primitives/hash.ts';
import type { MainThreadEnv } from '../../engine/method.ts';
import { PieceWriter } from '../../engine/reply-body.ts';
import { rpcFail } from '../../engine/rpc-error.ts';

/** Time limit of one slice of a long reply, milliseconds. */
export const SLICE_MS = 2;
/** Transactions whose chunks are cached while a list is written. */
const MAX_CHUNKS = 100_000;

/** Returns the slot of a transaction in the mempool. Throws RpcError if it is not there. */
export function slotOf({ mempool }: MainThreadEnv, txid: Txid): number {
  const slot = mempool.entries.find(txid);
  return slot >= 0 ? slot : rpcFail('invalidAddressOrKey', 'Transaction not in mempool', 'tx_not_found');
}

/** Returns the chunks of the cluster of a transaction, highest feerate first. */
export function chunksAround({ mempool, settings }: MainThreadEnv, slot: number): MempoolChunk[] {
  return chunksOfCluster(mempool.entries, clusterOf(mempool.entries, slot), settings.relay.bytesPerSigop);
}

/** Returns a function that finds the chunk of a transaction and linearizes each cluster once. */
export function chunkFinder(env: MainThreadEnv): (slot: number) => MempoolChunk {
  const chunks = new Map<number, MempoolChunk>();
  let { seq } = env.mempool;
  return (slot) => {
    if (env.mempool.seq !== seq || chunks.size > MAX_CHUNKS) chunks.clear();
    seq = env.mempool.seq;
    if (!chunks.has(slot))
      for (const chunk of chunksAround(env, slot)) for (const each of chunk.slots) chunks.set(each, chunk);
    return chunks.get(slot)!;
  };
}

/** Slots of transactions with the number that each has in the order of arrival. */
export interface Wanted {
  readonly slots: ArrayLike<number>;
  readonly numbers: ArrayLike<number>;
}

/** Returns the texts of the transactions that are still in the mempool, with commas between them. */
export async function inSlices(
  env: MainThreadEnv,
  wanted: Wanted,
  make: (slot: number) => string,
): Promise<readonly string[]> {
  const made = new PieceWriter();
  let comma = '';
  await visitInSlices(env, wanted, (slot) => {
    made.add(`${comma}${make(slot)}`);
    comma = ',';
  });
  return made.end();
}

/** Visits the transactions that are still in the mempool, and yields between slices. */
export async function visitInSlices(
  { mempool: { entries } }: MainThreadEnv,
  { slots, numbers }: Wanted,
  visit: (slot: number) => void,
): Promise<void> {
  const pause = slicePauses(SLICE_MS);
  for (let i = 0; i < slots.length; i++) {
    if (i % 16 === 0) await pause();
    const slot = slots[i]!;
    // The slot may hold another transaction by now.
    if (slot < 0 || !entries.has(slot) || entries.order(slot) !== numbers[i]) continue;
    visit(slot);
  }
}
