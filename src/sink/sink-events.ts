import { newBlockEvent } from '../chain/events.ts';
import type { ConsensusParams } from '../consensus/consensus-params.ts';
import { isNullHash } from '../primitives/hash.ts';
import { headerFromBytes } from '../primitives/header.ts';
import type { HeaderRecord } from '../storage/header-store.ts';

/** An event of a block. The database gives it its number. */
export interface SinkEvent {
  readonly type: 'newBlock' | 'blockDisconnected' | 'reorg';
  readonly height: number;
  /** The hash of the block, or of the new tip after a reorg; display order, hex. */
  readonly hash: string;
  /** Unix seconds. */
  readonly time: number;
  /** The payload without its number. */
  readonly data: object;
}

/** A block as an event names it; the hash in display order, hex. */
export interface NamedBlock {
  readonly height: number;
  readonly hash: string;
}

/** Returns the event of a block that joins the chain. */
export function connectedEvent(
  record: HeaderRecord,
  facts: {
    readonly hash: string;
    readonly medianTime: number;
    readonly params: Pick<ConsensusParams, 'subsidyHalvingInterval'>;
    readonly time: number;
    readonly reorg: boolean;
    readonly initialSync: boolean;
    readonly headers: number;
  },
): SinkEvent {
  const { hash, medianTime, time } = facts;
  const header = headerFromBytes(record.header);
  const previousHash = isNullHash(header.previousHash) ? null : header.previousHash;
  const { height, chainwork } = record;
  const stats = record.stats!;
  const data = newBlockEvent(
    { ...header, hash: record.hash, height, previousHash, medianTime, chainwork },
    { ...facts, stats, size: stats.size, fees: record.fees ?? 0 },
  );
  return { type: 'newBlock', height, hash, time, data };
}

/** Returns the event of a block that leaves the chain. `depth` counts from the old tip, which has depth 1. */
export function disconnectedEvent(
  { height, hash }: NamedBlock,
  facts: {
    readonly previousHash: string;
    readonly txids: readonly string[];
    readonly depth: number;
    readonly time: number;
  },
): SinkEvent {
  const { previousHash, txids, depth, time } = facts;
  return { type: 'blockDisconnected', height, hash, time, data: { time, hash, height, previousHash, txids, depth } };
}

/**
 * Returns the event of a reorg. It names the blocks alone: the fates of transactions depend on the mempool of one node.
 * `disconnected` begins with the old tip, `connected` with the lowest block.
 */
export function reorgedEvent(
  fork: NamedBlock,
  disconnected: readonly NamedBlock[],
  connected: readonly NamedBlock[],
  time: number,
): SinkEvent {
  const newTip = connected.at(-1) ?? fork;
  const data = {
    time,
    forkHeight: fork.height,
    forkHash: fork.hash,
    oldTip: disconnected[0]!,
    newTip,
    disconnected: disconnected.map(({ hash }) => hash),
    connected: connected.map(({ hash }) => hash),
    depth: disconnected.length,
  };
  return { type: 'reorg', height: newTip.height, hash: newTip.hash, time, data };
}
