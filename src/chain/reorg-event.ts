import type { ParsedBlock } from '../primitives/block.ts';
import { hashToHex } from '../primitives/hash.ts';
import { outpointKey } from '../primitives/outpoint.ts';
import { bytesToHex } from '../util/bytes.ts';
import type { ChainFollower, ChainMove } from './events.ts';

/** What became of a transaction whose block left the chain. */
interface TxFate {
  readonly txid: string;
  /** `dropped`: it is nowhere, and nothing stands in its way. */
  readonly fate: 'reconfirmed' | 'mempool' | 'conflicted' | 'dropped';
  /** What spends the same coin in the new branch. */
  readonly conflict: string | null;
}

/** More than ever happened; the rest of a deeper reorg is left out, and `txsComplete` says so. */
const TXS_LIMIT = 20_000;

/** Payload of `reorg`; either list of blocks may be long. `follower` has gone along already. */
export function reorgEvent(
  { disconnected, connected, tip: newTip, readBlock }: Omit<ChainMove, 'settled'>,
  follower: Pick<ChainFollower, 'has'> | null,
  time: number,
): object {
  const oldTip = disconnected[0]!;
  const fork = disconnected.at(-1)!.parent!;
  const fates: TxFate[] = [];
  const branch = newBranch(connected.map(readBlock));
  let left = 0;
  // Ascending, so that a transaction comes before those that spend it.
  for (const entry of disconnected.toReversed())
    for (const { tx, txid } of readBlock(entry).txs) {
      if (fates.length >= TXS_LIMIT) left++;
      else {
        const reconfirmed = branch.txids.has(bytesToHex(txid));
        const waits = !reconfirmed && follower?.has(txid) === true;
        const spender =
          reconfirmed || waits
            ? undefined
            : tx.inputs.map(({ prevout }) => branch.spenders.get(outpointKey(prevout))).find(Boolean);
        fates.push({
          txid: hashToHex(txid),
          fate: reconfirmed ? 'reconfirmed' : waits ? 'mempool' : spender ? 'conflicted' : 'dropped',
          conflict: spender ?? null,
        });
      }
    }
  return {
    time,
    forkHeight: fork.height,
    forkHash: hashToHex(fork.hash),
    oldTip: { height: oldTip.height, hash: hashToHex(oldTip.hash) },
    newTip: { height: newTip.height, hash: hashToHex(newTip.hash) },
    disconnected: disconnected.map(({ hash }) => hashToHex(hash)),
    connected: connected.map(({ hash }) => hashToHex(hash)),
    depth: disconnected.length,
    txs: fates,
    txsComplete: left === 0,
  };
}

/** The transactions of the new branch, and which of them spends what. Coinbases spend nothing that another could. */
function newBranch(blocks: readonly ParsedBlock[]): { txids: Set<string>; spenders: Map<string, string> } {
  const txids = new Set<string>();
  const spenders = new Map<string, string>();
  for (const { txs } of blocks)
    for (const [index, { tx, txid }] of txs.entries()) {
      txids.add(bytesToHex(txid));
      if (index > 0) for (const { prevout } of tx.inputs) spenders.set(outpointKey(prevout), hashToHex(txid));
    }
  return { txids, spenders };
}
