import type { ParsedBlock } from '../primitives/block.ts';
import { hashToHex } from '../primitives/hash.ts';
import { outpointKey } from '../primitives/outpoint.ts';
import type { Transaction } from '../primitives/transaction.ts';
import { type AddressFormat, addressOf } from '../script/address.ts';
import { bytesToHex } from '../util/bytes.ts';
import type { ChainFollower, ChainMove } from './events.ts';

/** The outcome for a transaction whose block was disconnected. */
interface TxFate {
  readonly txid: string;
  /** `dropped`: it is neither in the chain nor in the mempool, and no transaction conflicts with it. */
  readonly fate: 'reconfirmed' | 'mempool' | 'conflicted' | 'dropped';
  /** Txid of the transaction in the new branch that spends the same coin. */
  readonly conflict: string | null;
  /** Its outputs, so that a client need not look them up; `address` is null where a script has none. */
  readonly outputs?: readonly { readonly n: number; readonly value: number; readonly address: string | null }[];
}

/**
 * Bounds on `txs` and on all their outputs, above any reorg that ever happened; `txsComplete` is false if a deeper one
 * exceeds them.
 */
const TXS_LIMIT = 20_000;
const OUTPUTS_LIMIT = 60_000;

export interface ReorgFacts {
  /** Has processed the move already. */
  readonly follower: Pick<ChainFollower, 'has'> | null;
  /** Unix seconds. */
  readonly time: number;
  /** Null if the outputs are left out. */
  readonly format: AddressFormat | null;
}

/** Payload of `reorg`. Either list of blocks may be long. Amounts are satoshis. */
export function reorgEvent(
  { disconnected, connected, tip: newTip, readBlock }: Omit<ChainMove, 'settled'>,
  { follower, time, format }: ReorgFacts,
): object {
  const oldTip = disconnected[0]!;
  const fork = disconnected.at(-1)!.parent!;
  const fates: TxFate[] = [];
  const branch = newBranch(connected.map(readBlock));
  let omitted = 0;
  let outputs = 0;
  // Ascending, so that parents come before the transactions that spend their outputs.
  for (const entry of disconnected.toReversed())
    for (const { tx, txid } of readBlock(entry).txs) {
      outputs += format ? tx.outputs.length : 0;
      if (fates.length >= TXS_LIMIT || outputs > OUTPUTS_LIMIT) omitted++;
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
          ...(format && { outputs: outputsOf(tx, format) }),
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

function outputsOf({ outputs }: Transaction, format: AddressFormat) {
  return outputs.map(({ value, scriptPubKey }, n) => ({
    n,
    value: Number(value),
    address: addressOf(scriptPubKey, format),
  }));
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
