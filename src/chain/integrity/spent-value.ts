import type { ParsedBlock } from '../../primitives/block.ts';
import { readTxUndo } from '../../primitives/undo.ts';
import { ByteReader, DecodeError } from '../../util/bytes.ts';

/** Returns the sum of the spent outputs. Throws DecodeError if there are not as many as the block has inputs. */
export function spentValue({ txs }: ParsedBlock, undo: Uint8Array): bigint {
  const r = new ByteReader(undo);
  let sum = 0n;
  for (let i = 1; i < txs.length; i++)
    for (const { output } of readTxUndo(r, txs[i]!.tx.inputs.length)) sum += output.value;
  if (r.remaining > 0) throw new DecodeError('it has more outputs than its block has inputs');
  return sum;
}
