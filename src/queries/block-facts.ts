import { difficultyOf, expandBits, targetToHex } from '../consensus/work.ts';
import { double } from '../http/core-number.ts';
import { fail } from '../http/errors.ts';
import { type BlockHash, hashFromHex, hashToHex } from '../primitives/hash.ts';
import { type BlockHeader, headerFromBytes } from '../primitives/header.ts';
import type { ChainSource } from '../storage/chain-source.ts';
import { type HeaderRecord, medianOf } from '../storage/header-store.ts';
import type { ReadEnv } from './read-env.ts';

/** Number of blocks in the median time past. */
const MEDIAN_SPAN = 11;

/** A header and its position in the chain, from which REST and RPC make their JSON. */
export interface BlockFacts {
  readonly block: HeaderRecord;
  readonly header: BlockHeader;
  readonly inActiveChain: boolean;
  /** 1 at the tip of the active chain; -1 outside of it. */
  readonly confirmations: number;
  /** The next block of the active chain; null at its tip and outside of it. */
  readonly nextHash: BlockHash | null;
  readonly medianTime: number;
}

/** Returns the header with a hash in display order. Throws `block_not_found`. */
export function blockByHash({ reads, tip }: ReadEnv, hash: string): HeaderRecord {
  return reads.headers.byHash(hashFromHex(hash)) ?? blockNotFound(tip);
}

/** Returns the block of the active chain at a height. Throws `block_not_found`. */
export function blockByHeight({ reads, tip }: ReadEnv, height: number): HeaderRecord {
  return (height <= tip.height ? reads.headers.byHeight(height) : null) ?? blockNotFound(tip);
}

function blockNotFound(tip: HeaderRecord): never {
  fail('block_not_found', 'no such block', { tipHeight: tip.height });
}

export function blockFacts({ reads, tip }: Pick<ReadEnv, 'reads' | 'tip'>, block: HeaderRecord): BlockFacts {
  const inActiveChain = reads.headers.isActive(block);
  const next = inActiveChain && block.height < tip.height ? reads.headers.byHeight(block.height + 1) : null;
  return {
    block,
    header: headerFromBytes(block.header),
    inActiveChain,
    confirmations: inActiveChain ? tip.height - block.height + 1 : -1,
    nextHash: next?.hash ?? null,
    medianTime: medianTime(reads, block, inActiveChain),
  };
}

/** Returns the median of the times of this block and the ten before it, Unix seconds. */
export function medianTime(
  reads: Pick<ChainSource, 'headers'>,
  block: HeaderRecord,
  active = reads.headers.isActive(block),
): number {
  if (active) return reads.headers.medianTime(block.height);
  const ancestors: HeaderRecord[] = [];
  let at: HeaderRecord | null = block;
  while (at && ancestors.length < MEDIAN_SPAN) {
    ancestors.push(at);
    at = at.height > 0 ? reads.headers.byHash(at.header.subarray(4, 36)) : null;
  }
  return medianOf(ancestors.map(headerTime));
}

/** Returns the time of a header without decoding the rest. */
export function headerTime({ header }: { readonly header: Uint8Array }): number {
  return header[68]! + header[69]! * 0x100 + header[70]! * 0x1_0000 + header[71]! * 0x100_0000;
}

/** Returns the compact target of a header. */
export function headerBits({ header }: { readonly header: Uint8Array }): number {
  return header[72]! + header[73]! * 0x100 + header[74]! * 0x1_0000 + header[75]! * 0x100_0000;
}

/** Returns difficulty and target in the forms that REST and RPC share. */
export function workFields(bits: number): { bits: string; target: string; difficulty: number } {
  return { bits: hex8(bits), target: targetToHex(expandBits(bits).target), difficulty: double(difficultyOf(bits)) };
}

export function hex8(value: number): string {
  return (value >>> 0).toString(16).padStart(8, '0');
}

export function tipView(tip: HeaderRecord): { height: number; hash: string } {
  return { height: tip.height, hash: hashToHex(tip.hash) };
}

/**
 * Returns the bytes of a block. Throws `block_not_found` where they were never received, and BlockPruned where they
 * were deleted.
 */
export function rawBlock({ reads, tip }: Pick<ReadEnv, 'reads' | 'tip'>, block: HeaderRecord): Uint8Array {
  return reads.rawBlock(block) ?? blockNotFound(tip);
}
