import { hashToHex } from '../primitives/hash.ts';
import { headerFromBytes } from '../primitives/header.ts';
import type { ChainSource } from '../storage/chain-source.ts';

/** The latest committed tip. Replies that read a snapshot name the tip of that snapshot instead. */
export interface TipView {
  readonly height: number;
  /** Display order. */
  readonly hash: string;
  readonly time: number;
}

/** Reads the latest committed tip. */
export function readTipView(reads: Pick<ChainSource, 'tip'>): TipView {
  const { height, hash, header } = reads.tip();
  return { height, hash: hashToHex(hash), time: headerFromBytes(header).time };
}
