import { hashToHex } from '../primitives/hash.ts';
import { headerFromBytes } from '../primitives/header.ts';
import type { HeaderRecord } from '../storage/header-store.ts';

/** The latest committed tip. Replies that read a snapshot name the tip of that snapshot instead. */
export interface TipView {
  readonly height: number;
  /** Display order. */
  readonly hash: string;
  readonly time: number;
}

/** An object that reads the header of the tip. */
export interface TipSource {
  tip(): Pick<HeaderRecord, 'height' | 'hash' | 'header'>;
}

/** Reads the latest committed tip. */
export function readTipView(reads: TipSource): TipView {
  const { height, hash, header } = reads.tip();
  return { height, hash: hashToHex(hash), time: headerFromBytes(header).time };
}
