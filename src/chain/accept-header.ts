import { checkHeader, checkHeaderContext } from '../consensus/check-header.ts';
import type { ConsensusParams } from '../consensus/consensus-params.ts';
import { type BlockRejection, reject } from '../consensus/rejection.ts';
import type { BlockHash } from '../primitives/hash.ts';
import type { BlockHeader } from '../primitives/header.ts';
import type { Result } from '../util/result.ts';
import type { ChainEntry } from './chain-entry.ts';
import type { HeaderTree } from './header-tree.ts';

/** Puts a header into the tree when it may follow its parent. `now` is the node's time in seconds. */
export function acceptHeader(
  tree: HeaderTree,
  hash: BlockHash,
  header: BlockHeader,
  params: ConsensusParams,
  now: number,
): Result<{ entry: ChainEntry; isNew: boolean }, BlockRejection> {
  const known = tree.findEntry(hash);
  if (known) {
    if (known.failed) return reject('cached-invalid', 'duplicate-invalid', 'block is marked invalid');
    return { ok: true, value: { entry: known, isNew: false } };
  }
  const badWork = checkHeader({ hash, bits: header.bits }, params);
  if (badWork) return { ok: false, ...badWork };
  const parent = tree.findEntry(header.previousHash);
  if (!parent) return reject('missing-prev', 'prev-blk-not-found', 'the block it builds on is unknown');
  if (parent.failed) return reject('invalid-prev', 'bad-prevblk', 'the block it builds on is invalid');
  const bad = checkHeaderContext(header, parent, params, now);
  if (bad) return { ok: false, ...bad };
  return { ok: true, value: { entry: tree.insertHeader(hash, header, parent), isNew: true } };
}
