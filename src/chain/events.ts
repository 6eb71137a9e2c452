import type { ConsensusParams } from '../consensus/consensus-params.ts';
import { medianTimePast } from '../consensus/header-entry.ts';
import { blockSubsidy } from '../consensus/subsidy.ts';
import { difficultyOf } from '../consensus/work.ts';
import type { ParsedBlock } from '../primitives/block.ts';
import { hashToHex } from '../primitives/hash.ts';
import type { BodyStats } from '../storage/header-store.ts';
import type { ChainEntry } from './chain-entry.ts';
import type { StagedBlock } from './connect-block.ts';

/** Told after the storage transaction commits, in chain order. Listeners observe; they never decide. */
export interface ChainCommit {
  /** The newest event of the log. */
  readonly lastSeq: number;
  readonly tip: ChainEntry;
  readonly connected: readonly ChainEntry[];
  readonly disconnected: readonly ChainEntry[];
}

/** Payload of `newBlock` in the event log; amounts in satoshis, times in Unix seconds. */
function newBlockEvent(
  entry: ChainEntry,
  facts: {
    stats: BodyStats;
    size: number;
    fees: number;
    params: ConsensusParams;
    time: number;
    reorg: boolean;
    initialSync: boolean;
    headers: number;
  },
): object {
  const { stats, size, fees, params, time, reorg, initialSync, headers } = facts;
  return {
    time,
    hash: hashToHex(entry.hash),
    height: entry.height,
    previousHash: entry.parent && hashToHex(entry.parent.hash),
    version: entry.version,
    merkleRoot: hashToHex(entry.merkleRoot),
    blockTime: entry.time,
    medianTime: medianTimePast(entry),
    bits: entry.bits.toString(16).padStart(8, '0'),
    nonce: entry.nonce,
    // As many digits as Core prints.
    difficulty: Number(difficultyOf(entry.bits).toPrecision(16)),
    chainwork: entry.chainwork.toString(16).padStart(64, '0'),
    txCount: stats.txCount,
    size,
    strippedSize: stats.strippedSize,
    weight: stats.strippedSize * 3 + size,
    fees,
    subsidy: Number(blockSubsidy(entry.height, params.subsidyHalvingInterval)),
    reward: stats.reward,
    confirmations: 1,
    reorg,
    initialSync,
    headers,
  };
}

/** Payload of `blockDisconnected`; `depth` counts from the old tip, which has 1. */
function blockDisconnectedEvent(entry: ChainEntry, txids: readonly string[], depth: number, time: number): object {
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
  /** Blocks that leave it, the highest first. */
  readonly disconnected: readonly ChainEntry[];
  /** Blocks that join it, the lowest first. */
  readonly connected: readonly ChainEntry[];
  readonly tip: ChainEntry;
  /** Coins can be read and are those of `tip`; in initial sync the chain may be ahead of what it commits. */
  readonly settled: boolean;
  readBlock(entry: ChainEntry): ParsedBlock;
}

/**
 * Goes along with the chain: the mempool, and wallets. It is told of each move before that is committed, so that the
 * events of both have one order. What it throws stops the chain, which it would no longer be in step with.
 */
export interface ChainFollower {
  follow(move: ChainMove): void;
  /** The move is committed, if there was one: a commit may hold headers alone. Told before any listener. */
  onCommitted?(commit: ChainCommit): void;
  /** Whether a transaction is in the mempool. */
  has(txid: Uint8Array): boolean;
}

/** The events of the blocks of one commit, in the order in which they are told. */
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
      data: newBlockEvent(entry, { ...facts, stats, size: entry.body.size, fees: effects.fees, reorg }),
    });
  return events;
}

function txidsOf({ txs }: ParsedBlock): string[] {
  return txs.map(({ txid }) => hashToHex(txid));
}
