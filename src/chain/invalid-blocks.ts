import type { BlockRejection } from '../consensus/rejection.ts';
import { hashToHex } from '../primitives/hash.ts';
import { HeaderStatus } from '../storage/schema.ts';
import { Listeners } from '../util/listeners.ts';
import type { Log } from '../util/log.ts';
import type { ChainEntry } from './chain-entry.ts';
import type { Commits } from './commits.ts';
import type { HeaderTree } from './header-tree.ts';

const REJECTIONS_KEPT = 1_000;

/** Blocks that were found or called invalid: marks them in the tree and for the next commit, and knows why they are. */
export class InvalidBlocks {
  /** Told when a block that was taken turns out to be invalid. */
  readonly found: Listeners<[entry: ChainEntry, rejection: BlockRejection]>;
  readonly #tree: HeaderTree;
  readonly #commits: Commits;
  readonly #log: Log;
  readonly #rejections = new Map<ChainEntry, BlockRejection>();

  constructor(tree: HeaderTree, commits: Commits, log: Log) {
    this.#tree = tree;
    this.#commits = commits;
    this.#log = log;
    this.found = new Listeners('invalid block', log);
  }

  /** Why a block is invalid by itself; null where it is not, or it was found long ago. */
  rejectionOf(entry: ChainEntry): BlockRejection | null {
    return this.#rejections.get(entry) ?? null;
  }

  /** It breaks a rule. */
  fail(entry: ChainEntry, rejection: BlockRejection): void {
    this.#markChanged(this.#tree.fail(entry));
    if (this.#rejections.size >= REJECTIONS_KEPT) this.#rejections.delete(this.#rejections.keys().next().value!);
    this.#rejections.set(entry, rejection);
    const { reason, debug } = rejection;
    this.#log.warn('invalid block', { hash: hashToHex(entry.hash), height: entry.height, reason, debug });
    this.found.tell(entry, rejection);
  }

  /** An operator calls it invalid. */
  invalidate(entry: ChainEntry): void {
    this.#markChanged(this.#tree.fail(entry, HeaderStatus.INVALIDATED));
  }

  /** Forgets all that is held against a block, its ancestors and what builds on it. */
  reconsider(entry: ChainEntry): void {
    this.#markChanged(this.#tree.reconsider(entry));
  }

  #markChanged(entries: readonly ChainEntry[]): void {
    for (const entry of entries) {
      this.#commits.addStatus(entry);
      if (!entry.failed) this.#rejections.delete(entry);
    }
  }
}
