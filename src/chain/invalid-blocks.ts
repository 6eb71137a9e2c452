import type { BlockRejection } from '../consensus/rejection.ts';
import { hashToHex } from '../primitives/hash.ts';
import { HeaderStatus } from '../storage/schema.ts';
import type { Log } from '../util/log.ts';
import { Observers } from '../util/observers.ts';
import type { ChainCommitter } from './chain-committer.ts';
import type { ChainEntry } from './chain-entry.ts';
import type { HeaderTree } from './header-tree.ts';

const REJECTIONS_KEPT = 1_000;

/** Blocks that were found or called invalid: marks them in the tree and for the next commit, and knows why they are. */
export class InvalidBlocks {
  /** Told when a block that was taken turns out to be invalid. */
  readonly invalidFound: Observers<[entry: ChainEntry, rejection: BlockRejection]>;
  readonly #tree: HeaderTree;
  readonly #committer: ChainCommitter;
  readonly #log: Log;
  readonly #rejections = new Map<ChainEntry, BlockRejection>();

  constructor(tree: HeaderTree, commits: ChainCommitter, log: Log) {
    this.#tree = tree;
    this.#committer = commits;
    this.#log = log;
    this.invalidFound = new Observers('invalid block', log);
  }

  /** Why a block is invalid by itself; null where it is not, or it was found long ago. */
  rejectionOf(entry: ChainEntry): BlockRejection | null {
    return this.#rejections.get(entry) ?? null;
  }

  /** It breaks a rule. */
  markFailed(entry: ChainEntry, rejection: BlockRejection): void {
    this.#markChanged(this.#tree.markFailed(entry));
    if (this.#rejections.size >= REJECTIONS_KEPT) this.#rejections.delete(this.#rejections.keys().next().value!);
    this.#rejections.set(entry, rejection);
    const { reason, debug } = rejection;
    this.#log.warn('invalid block', { hash: hashToHex(entry.hash), height: entry.height, reason, debug });
    this.invalidFound.notify(entry, rejection);
  }

  /** An operator calls it invalid. */
  invalidate(entry: ChainEntry): void {
    this.#markChanged(this.#tree.markFailed(entry, HeaderStatus.INVALIDATED));
  }

  /** Forgets all that is held against a block, its ancestors and what builds on it. */
  reconsider(entry: ChainEntry): void {
    this.#markChanged(this.#tree.clearFailed(entry));
  }

  #markChanged(entries: readonly ChainEntry[]): void {
    for (const entry of entries) {
      this.#committer.addStatus(entry);
      if (!entry.failed) this.#rejections.delete(entry);
    }
  }
}
