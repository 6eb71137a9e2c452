import type { ParsedBlock } from '../primitives/block.ts';
import { hashToHex } from '../primitives/hash.ts';
import { outpointKey } from '../primitives/outpoint.ts';
import { bytesToHex } from '../util/bytes.ts';
import type { ChainFollower, ChainMove } from './events.ts';

/** The outcome for a transaction whose block was disconnected. */
interface TxFate {
  readonly txid: string;
  /** `dropped`: it is neither in the chain nor in the mempool, and no transaction conflicts with it. */
  readonly fate: 'reconfirmed' | 'mempool' | 'conflicted' | 'dropped';
  /** Txid of the transaction in the new branch that spends the same coin. */
  readonly conflict: string | null;
}

/** Bound on `txs`, above any reorg that ever happened; `txsComplete` is false if a deeper one exceeds it. */
const TXS_LIMIT = 20_000;

/** Payload of `reorg`. Either list of blocks may be long. `follower` has processed the move already. */
export function reorgEvent(
  { disconnected, connected, tip: newTip, readBlock }: Omit<ChainMove, 'settled'>,
  follower: Pick<ChainFollower, 'has'> | null,
  time: number,
): object {
  const oldTip = disconnected[0]!;
  const fork = disconnected.at(-1)!.parent!;
  const fates: TxFate[] = [];
  const branch = newBranch(connected.map(readBlock));
  let omitted = 0;
  // Ascending, so that parents come before the transactions that spend their outputs.
  for (const entry of disconnected.toReversed())
    for (const { tx, txid } of readBlock(entry).txs) {
      if (fates.length >= TXS_LIMIT) omitted++;
      else {
        const reconfirmed = branch.txids.has(bytesToHex(txid));
        const inMempool = !reconfirmed && follower?.has(txid) === true;
        const spender =
          reconfirmed || inMempool
            ? undefined
            : tx.inputs.map(({ prevout }) => branch.spenders.get(outpointKey(prevout))).find(Boolean);
        fates.push({
          txid: hashToHex(txid),
          fate: reconfirmed ? 'reconfirmed' : inMempool ? 'mempool' : spender ? 'conflicted' : 'dropped',
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
    txsComplete: omitted === 0,
  };
}

/**
 * Returns the transactions of the new branch, and the spender of each outpoint. Coinbases are left out of the spenders,
 * since no other transaction can spend the same.
 */
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
