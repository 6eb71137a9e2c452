import type { ImportOptions } from '../import-types.ts';
import type { UnreadableRange } from './stored-blocks.ts';

/** A block that the block files hold and that cannot be used. */
export interface DamagedBlock {
  readonly file: string;
  /** Offset of its bytes in the file. */
  readonly offset: number;
  /** Display order. */
  readonly hash: string;
  /** Null if the header has no place in the chain. */
  readonly height: number | null;
  readonly reason: string;
}

export interface ReindexResult {
  /** Whether an interrupted reindex was continued. */
  readonly continued: boolean;
  readonly blocksConnected: number;
  /** Blocks that the interrupted reindex had stored. */
  readonly blocksKnown: number;
  /** The tip; its hash in display order. */
  readonly height: number;
  readonly hash: string;
  /** Height up to which headers are known: above `height` if a block on the way is damaged. */
  readonly headers: number;
  readonly damaged: readonly DamagedBlock[];
  readonly unreadable: readonly UnreadableRange[];
  /** Blocks whose ancestors are in none of the files. */
  readonly withoutParent: number;
}

export interface ReindexOptions extends ImportOptions {
  /** Begins again instead of continuing an interrupted reindex. */
  readonly restart: boolean;
}
