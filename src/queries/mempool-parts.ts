import { slicePauses } from '../http/slice-pauses.ts';
import type { MempoolMirror } from '../mempool/mirror.ts';
import { hashToHex, type Txid } from '../primitives/hash.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import { unpackScripts } from '../primitives/packed-scripts.ts';
import type { ReadEnv } from './read-env.ts';

/** Time limit of one slice on the main thread, milliseconds. */
const SLICE_MS = 2;
const HASH_SIZE = 32;

/** Returns the packed txids of the mempool transactions that touch packed scripts. It yields between slices. */
export async function txidsTouching(
  mempool: Pick<MempoolMirror, 'slotsOfScript' | 'entries'>,
  scripts: Uint8Array,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const found = new Map<string, Txid>();
  const pause = slicePauses(SLICE_MS);
  for (const script of unpackScripts(scripts)) {
    for (const slot of mempool.slotsOfScript(script)) {
      const txid = mempool.entries.txid(slot).slice() as Txid;
      found.set(hashToHex(txid), txid);
    }
    const paused = pause();
    if (!paused) continue;
    await paused;
    signal.throwIfAborted();
  }
  return packTxids(found);
}

/** Returns the distinct txids of outpoints, packed. */
export function spentTxids(prevouts: readonly Outpoint[]): Uint8Array {
  return packTxids(new Map(prevouts.map(({ txid }) => [hashToHex(txid), txid])));
}

/** Packs the txids of a map into one byte array. */
function packTxids(unique: ReadonlyMap<string, Txid>): Uint8Array {
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
