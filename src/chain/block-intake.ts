import { checkBlock } from '../consensus/check-block.ts';
import { checkBlockContext } from '../consensus/check-block-context.ts';
import { checkHeader, checkHeaderContext } from '../consensus/check-header.ts';
import type { ConsensusParams } from '../consensus/consensus-params.ts';
import { type BlockRejection, reject } from '../consensus/rejection.ts';
import type { ParsedBlock } from '../primitives/block.ts';
import { type BlockHash, hashToHex } from '../primitives/hash.ts';
import { type BlockHeader, headerHash } from '../primitives/header.ts';
import type { FilePosition } from '../storage/block-files.ts';
import { HeaderStatus } from '../storage/chain-schema.ts';
import { DecodeError } from '../util/bytes.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import { Observers } from '../util/observers.ts';
import type { Result } from '../util/result.ts';
import type { ActiveChain } from './active-chain.ts';
import type { BestChain } from './best-chain.ts';
import type { ChainCommitter } from './chain-committer.ts';
import type { ChainEntry } from './chain-entry.ts';
import type { ChainStore } from './chain-store.ts';
import { bodyStats } from './connect-block.ts';
import type { HeaderTree } from './header-tree.ts';
import type { InitialSync } from './initial-sync.ts';
import type { InvalidBlocks } from './invalid-blocks.ts';
import type { StageTimings } from './stage-timings.ts';

/** Outcome of a submitted block. */
export type BlockOutcome =
  /** The block is stored: in the active chain, or on a branch with less work. */
  | { readonly status: 'accepted'; readonly entry: ChainEntry }
  | { readonly status: 'known'; readonly entry: ChainEntry }
  | { readonly status: 'rejected'; readonly rejection: BlockRejection };

/** Outcome of headers that were submitted together. */
export interface HeadersOutcome {
  /** The last accepted header, new or already known; null if the first one was rejected. */
  readonly last: ChainEntry | null;
  /** Rejection of the header after `last`; null if all were accepted. */
  readonly rejection: BlockRejection | null;
  readonly added: number;
}

export interface BlockIntakeDeps {
  readonly store: ChainStore;
  readonly tree: HeaderTree;
  readonly active: ActiveChain;
  readonly committer: ChainCommitter;
  readonly invalid: InvalidBlocks;
  readonly best: BestChain;
  readonly sync: InitialSync;
  readonly timings: StageTimings;
  readonly params: ConsensusParams;
  readonly clock: Clock;
  readonly log: Log;
}

/** Accepts blocks and headers: runs all checks that need no coins, and stores what passes them. */
export class BlockIntake {
  /**
   * Notified of each block on top of the tip once all checks but those of inputs and scripts have passed (Core's
   * NewPoWValidBlock); not during initial block download.
   */
  readonly newPowValidBlock: Observers<[entry: ChainEntry, block: ParsedBlock]>;
  readonly #deps: BlockIntakeDeps;

  constructor(deps: BlockIntakeDeps) {
    this.#deps = deps;
    this.newPowValidBlock = new Observers('new block on the tip', deps.log);
  }

  /**
   * Validates and stores a block, then activates the best chain. `parse` decodes the bytes and throws DecodeError.
   * `position`: where the block files hold the block already.
   */
  async acceptBlock(
    raw: Uint8Array,
    parse: (raw: Uint8Array) => ParsedBlock,
    position: FilePosition | null = null,
  ): Promise<BlockOutcome> {
    const { tree, active, committer, invalid, best, sync, timings, params, log } = this.#deps;
    let block: ParsedBlock;
    try {
      block = timings.timed('parse', () => parse(raw));
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      log.debug('block does not parse', { reason: error.message });
      return { status: 'rejected', rejection: reject('mutated', 'bad-blk-decode', error.message) };
    }
    const known = tree.findEntry(block.hash);
    if (known?.hasBody) return known.failed ? this.#cachedInvalid(known) : { status: 'known', entry: known };
    const bad = timings.timed('check', () => checkBlock(block, params));
    if (bad) return this.#reject(block.hash, bad);
    const accepted = this.acceptHeader(block.hash, block.header);
    if (!accepted.ok) return { status: 'rejected', rejection: accepted };
    const { entry } = accepted.value;
    const rejection = timings.timed('check', () => checkBlockContext(block, entry.parent!, params));
    if (rejection) {
      // A mutated body proves nothing about the block that the header commits to, so the header stays valid.
      if (rejection.kind !== 'mutated') {
        invalid.markFailed(entry, rejection);
        invalid.notifyObservers();
      }
      return this.#reject(block.hash, rejection);
    }
    this.storeBlock(entry, block, position);
    committer.recentBlock = { entry, block };
    if (entry.parent === active.committedTip && !sync.active) this.newPowValidBlock.notify(entry, block);
    await best.activateBestChain(entry, block);
    const found = invalid.rejectionOf(entry);
    return found ? { status: 'rejected', rejection: found } : { status: 'accepted', entry };
  }

  #reject(hash: BlockHash, rejection: BlockRejection): BlockOutcome {
    const { reason, debug } = rejection;
    const isMutated = rejection.kind === 'mutated';
    this.#deps.log.debug(isMutated ? 'block mutated' : 'block rejected', { hash: hashToHex(hash), reason, debug });
    return { status: 'rejected', rejection };
  }

  /** Validates a header and adds it to the tree; its body may be missing. */
  acceptHeader(hash: BlockHash, header: BlockHeader): Result<{ entry: ChainEntry; isNew: boolean }, BlockRejection> {
    const { tree, committer, params, clock, log } = this.#deps;
    const accepted = addToTree(tree, hash, header, params, unixSeconds(clock));
    if (!accepted.ok)
      log.debug('header rejected', { hash: hashToHex(hash), reason: accepted.reason, debug: accepted.debug });
    else if (accepted.value.isNew) committer.addHeader(accepted.value.entry);
    return accepted;
  }

  /** Accepts headers, each the parent of the next, up to the first that is rejected. */
  acceptHeaders(headers: readonly BlockHeader[]): HeadersOutcome {
    let last: ChainEntry | null = null;
    let added = 0;
    for (const header of headers) {
      const accepted = this.acceptHeader(headerHash(header), header);
      if (!accepted.ok) return { last, rejection: accepted, added };
      last = accepted.value.entry;
      if (accepted.value.isNew) added++;
    }
    return { last, rejection: null, added };
  }

  /** Stores the body of a block that has passed the checks, unless the block files hold it at `position`. */
  storeBlock(entry: ChainEntry, block: ParsedBlock, position: FilePosition | null = null): void {
    const { store, tree, committer, clock } = this.#deps;
    entry.body = position ?? store.appendBlock(block.raw);
    entry.status |= HeaderStatus.HAVE_BLOCK | HeaderStatus.HAD_BLOCK;
    committer.addBody({ entry, stats: bodyStats(block), receivedAt: unixSeconds(clock) });
    tree.onBlockStored(entry);
  }

  #cachedInvalid(entry: ChainEntry): BlockOutcome {
    const debug = this.#deps.invalid.rejectionOf(entry)?.reason ?? 'block was found invalid before';
    return { status: 'rejected', rejection: reject('cached-invalid', 'duplicate-invalid', debug) };
  }
}

/** Validates a header against its parent and inserts it into the tree. `now`: the node's time, Unix seconds. */
function addToTree(
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
  if (!parent) return reject('missing-prev', 'prev-blk-not-found', 'parent block is unknown');
  if (parent.failed) return reject('invalid-prev', 'bad-prevblk', 'parent block is invalid');
  const bad = checkHeaderContext(header, parent, params, now);
  if (bad) return { ok: false, ...bad };
  return { ok: true, value: { entry: tree.insertHeader(hash, header, parent), isNew: true } };
}
