import { join } from 'node:path';
import { isBlockMutated } from '../consensus/check-block-context.ts';
import { type ParsedBlock, parseBlock } from '../primitives/block.ts';
import { type BlockHash, hashToHex } from '../primitives/hash.ts';
import { type FilePosition, RecordReader } from '../storage/block-files.ts';
import { openUndo } from '../storage/undo-record.ts';
import { DecodeError, equalBytes } from '../util/bytes.ts';

/** A stored block with its undo data. */
export interface StoredBlock {
  readonly hash: BlockHash;
  readonly height: number;
  readonly body: FilePosition;
  readonly undo: FilePosition;
  /** Whether segwit was active, on which the check of the witness commitment depends. */
  readonly segwit: boolean;
}

/** Reads blocks with their undo data. Calls `onProgress` before each. Throws if one cannot be read. */
export function* readStoredBlocks(
  chainDir: string,
  blocks: readonly StoredBlock[],
  onProgress: () => void,
): Generator<{ readonly stored: StoredBlock; readonly block: ParsedBlock; readonly undo: Uint8Array }> {
  const folder = join(chainDir, 'blocks');
  const bodies = new RecordReader(folder, 'blk');
  const undos = new RecordReader(folder, 'rev');
  try {
    for (const stored of blocks) {
      onProgress();
      const { hash } = stored;
      const block = parseBlock(bodies.read(stored.body));
      if (!equalBytes(block.hash, hash) || isBlockMutated(block, stored.segwit))
        throw new DecodeError(`block ${hashToHex(hash)} is damaged in blk file ${stored.body.file}`);
      yield { stored, block, undo: openUndo(hash, undos.read(stored.undo)) };
    }
  } finally {
    bodies.close();
    undos.close();
  }
}
