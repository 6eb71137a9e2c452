import type { BlockRejection } from '../consensus/rejection.ts';
import { hashToHex } from '../primitives/hash.ts';
import { HeaderStatus } from '../storage/chain-schema.ts';
import type { Log } from '../util/log.ts';
import { Observers } from '../util/observers.ts';
import type { ChainCommitter } from './chain-committer.ts';
import type { ChainEntry } from './chain-entry.ts';
import type { HeaderTree } from './header-tree.ts';

const REJECTIONS_KEPT = 1_000;

/** Marks blocks invalid in the tree and for the next commit, and keeps the rejections of the last ones. */
export class InvalidBlocks {
  /** Notified of stored blocks that turn out to be invalid, once the chain without them is committed. */
  readonly invalidFound: Observers<[entry: ChainEntry, rejection: BlockRejection]>;
  readonly #tree: HeaderTree;
  readonly #committer: ChainCommitter;
  readonly #log: Log;
  readonly #rejections = new Map<ChainEntry, BlockRejection>();
  /** Blocks of which observers are not notified yet: those of the running call of the chain. */
  #unreported: { readonly entry: ChainEntry; readonly rejection: BlockRejection }[] = [];

  constructor(tree: HeaderTree, committer: ChainCommitter, log: Log) {
    this.#tree = tree;
    this.#committer = committer;
    this.#log = log;
    this.invalidFound = new Observers('invalid block', log);
  }

  /**
   * Returns the rejection of a block that is invalid by itself; null if it is not, or if the rejection is no longer
   * kept.
   */
  rejectionOf(entry: ChainEntry): BlockRejection | null {
    return this.#rejections.get(entry) ?? null;
  }

  /** Whether observers wait for a block that was marked since the last `notifyObservers`. */
  get hasUnreported(): boolean {
    return this.#unreported.length > 0;
  }

  /** Marks a block that breaks a rule. Observers are notified by `notifyObservers`. */
  markFailed(entry: ChainEntry, rejection: BlockRejection): void {
    this.#markChanged(this.#tree.markFailed(entry));
    if (this.#rejections.size >= REJECTIONS_KEPT) this.#rejections.delete(this.#rejections.keys().next().value!);
    this.#rejections.set(entry, rejection);
    const { reason, debug } = rejection;
    this.#log.warn('invalid block', { hash: hashToHex(entry.hash), height: entry.height, reason, debug });
    this.#unreported.push({ entry, rejection });
  }

  /** Notifies observers of the blocks that were marked since the last call. */
  notifyObservers(): void {
    const found = this.#unreported;
    this.#unreported = [];
    for (const { entry, rejection } of found) this.invalidFound.notify(entry, rejection);
  }

  /** Marks a block invalid at an operator's request. */
  invalidate(entry: ChainEntry): void {
    this.#markChanged(this.#tree.markFailed(entry, HeaderStatus.INVALIDATED));
  }

  /** Clears the invalid marks of a block, its ancestors and its descendants. */
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
