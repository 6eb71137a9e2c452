import type { ConsensusParams } from '../consensus/consensus-params.ts';
import { medianTimePast } from '../consensus/header-entry.ts';
import { blockSubsidy } from '../consensus/subsidy.ts';
import { difficultyOf, targetToHex } from '../consensus/work.ts';
import type { ParsedBlock } from '../primitives/block.ts';
import { type BlockHash, hashToHex } from '../primitives/hash.ts';
import type { BlockHeader } from '../primitives/header.ts';
import type { BodyStats } from '../storage/header-store.ts';
import type { ChainEntry } from './chain-entry.ts';
import type { StagedBlock } from './connect-block.ts';

/** A commit, of which observers are notified in chain order. Observers cannot change its outcome. */
export interface ChainCommit {
  /** Number of the newest event in the log. */
  readonly lastSeq: number;
  readonly tip: ChainEntry;
  readonly connected: readonly ChainEntry[];
  readonly disconnected: readonly ChainEntry[];
}

/** The header of a block as `newBlock` shows it. */
export interface AnnouncedHeader extends Omit<BlockHeader, 'previousHash'> {
  readonly hash: BlockHash;
  readonly height: number;
  /** Null for the genesis block. */
  readonly previousHash: BlockHash | null;
  readonly medianTime: number;
  readonly chainwork: bigint;
}

/** Returns the header of an entry as `newBlock` shows it. */
export function announcedHeader(entry: ChainEntry): AnnouncedHeader {
  const { hash, height, version, merkleRoot, time, bits, nonce, chainwork, parent } = entry;
  const previousHash = parent?.hash ?? null;
  const medianTime = medianTimePast(entry);
  return { hash, height, previousHash, version, merkleRoot, time, medianTime, bits, nonce, chainwork };
}

/** Payload of `newBlock` in the event log. Amounts are satoshis, times are Unix seconds. */
export function newBlockEvent(
  header: AnnouncedHeader,
  facts: {
    stats: BodyStats;
    size: number;
    fees: number;
    params: Pick<ConsensusParams, 'subsidyHalvingInterval'>;
    time: number;
    reorg: boolean;
    initialSync: boolean;
    headers: number;
  },
): object {
  const { stats, size, fees, params, time, reorg, initialSync, headers } = facts;
  return {
    time,
    hash: hashToHex(header.hash),
    height: header.height,
    previousHash: header.previousHash && hashToHex(header.previousHash),
    version: header.version,
    merkleRoot: hashToHex(header.merkleRoot),
    blockTime: header.time,
    medianTime: header.medianTime,
    bits: header.bits.toString(16).padStart(8, '0'),
    nonce: header.nonce,
    // 16 digits, as Core prints it.
    difficulty: Number(difficultyOf(header.bits).toPrecision(16)),
    chainwork: targetToHex(header.chainwork),
    txCount: stats.txCount,
    size,
    strippedSize: stats.strippedSize,
    weight: stats.strippedSize * 3 + size,
    fees,
    subsidy: Number(blockSubsidy(header.height, params.subsidyHalvingInterval)),
    reward: stats.reward,
    confirmations: 1,
    reorg,
    initialSync,
    headers,
  };
}

/** Payload of `blockDisconnected`. `depth` counts from the old tip, which has depth 1. */
export function blockDisconnectedEvent(
  entry: ChainEntry,
  txids: readonly string[],
  depth: number,
  time: number,
): object {
  return {
    time,
    hash: hashToHex(entry.hash),
    height: entry.height,
    previousHash: entry.parent && hashToHex(entry.parent.hash),
    txids,
    depth,
  };
}

/** A move of the active chain that is about to be committed. */
export interface ChainMove {
  /** Blocks that leave the chain, the highest first. */
  readonly disconnected: readonly ChainEntry[];
  /** Blocks that join the chain, the lowest first. */
  readonly connected: readonly ChainEntry[];
  readonly tip: ChainEntry;
  /** Whether coins can be read as of `tip`. During initial block download the chain may be ahead of what it commits. */
  readonly settled: boolean;
  readBlock(entry: ChainEntry): ParsedBlock;
}

/**
 * The mempool and wallets, which follow the chain. They process each move before it is committed, so that their events
 * and those of the chain have one order. An exception stops the chain, since the follower would no longer match it.
 */
export interface ChainFollower {
  follow(move: ChainMove): void;
  /** Called after each commit and before the observers. A commit may hold headers alone, without a move. */
  onCommitted?(commit: ChainCommit): void;
  /** Whether a transaction is in the mempool. */
  has(txid: Uint8Array): boolean;
}

/** Returns the events of the blocks of one commit, in the order in which they are delivered. */
export function blockEvents(
  connected: readonly StagedBlock[],
  disconnected: readonly ChainEntry[],
  facts: {
    params: ConsensusParams;
    time: number;
    initialSync: boolean;
    headers: number;
    bodyOf: (entry: ChainEntry) => ParsedBlock;
  },
): { type: string; data: object }[] {
  const { time, bodyOf } = facts;
  const reorg = disconnected.length > 0;
  const events = disconnected.map((entry, i) => ({
    type: 'blockDisconnected',
    data: blockDisconnectedEvent(entry, txidsOf(bodyOf(entry)), i + 1, time),
  }));
  for (const { entry, stats, effects } of connected)
    events.push({
      type: 'newBlock',
      data: newBlockEvent(announcedHeader(entry), {
        ...facts,
        stats,
        size: entry.body.size,
        fees: effects.fees,
        reorg,
      }),
    });
  return events;
}

function txidsOf({ txs }: ParsedBlock): string[] {
  return txs.map(({ txid }) => hashToHex(txid));
}
