import type { NetworkParams } from '../params/network-params.ts';
import type { ParsedBlock } from '../primitives/block.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import { DurationCounts } from '../util/duration-counts.ts';
import type { Log } from '../util/log.ts';
import { Observers } from '../util/observers.ts';
import { type ActiveChain, netChange } from './active-chain.ts';
import type { ChainEntry } from './chain-entry.ts';
import type { ChainStore } from './chain-store.ts';
import type { ChainWarnings } from './chain-warnings.ts';
import type { StagedBlock } from './connect-block.ts';
import { blockEvents, type ChainCommit, type ChainFollower, type ChainMove } from './events.ts';
import { emptyTreeChange, type HeaderTree, isEmptyTreeChange, mergeTreeChanges, type NewBody } from './header-tree.ts';
import type { InitialSync } from './initial-sync.ts';
import type { Pruner } from './pruner.ts';
import { reorgEvent } from './reorg-event.ts';

/** During initial block download a commit is due after this many rows of the address index, or after this time. */
const ROWS_PER_COMMIT = 500_000;
const COMMIT_INTERVAL_MS = 5_000;

export interface CommitResult {
  readonly ok: boolean;
  /** Unix time in milliseconds. */
  readonly at: number;
  readonly durationMs: number;
}

export interface CommitterDeps {
  readonly store: ChainStore;
  readonly tree: HeaderTree;
  readonly active: ActiveChain;
  readonly sync: InitialSync;
  readonly warnings: ChainWarnings;
  readonly params: NetworkParams;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Collects the changes of the header tree for the next commit, decides when a commit is due, and notifies observers of
 * it.
 */
export class ChainCommitter {
  readonly #deps: CommitterDeps;
  /** Notified after each commit, in order. */
  readonly committed: Observers<[commit: ChainCommit]>;
  /** The mempool and wallets, which follow each move of the chain. */
  follower: ChainFollower | null = null;
  /** Removes old block files; null keeps them all. */
  pruner: Pruner | null = null;
  /** The block that arrived last, so that it need not be read from disk. */
  recentBlock: { readonly entry: ChainEntry; readonly block: ParsedBlock } | null = null;
  #treeChange = emptyTreeChange();
  /** Changes that belong to the sealed changes of the active chain. */
  #sealedTreeChange = emptyTreeChange();
  /** Monotonic time of the last commit, milliseconds. */
  #committedAt: number;
  #last: CommitResult;
  /** Durations of the commits. */
  readonly durations = new DurationCounts();

  constructor(deps: CommitterDeps) {
    this.#deps = deps;
    this.committed = new Observers('commit', deps.log);
    this.#committedAt = deps.clock.monotonicMs();
    this.#last = { ok: true, at: deps.clock.nowMs(), durationMs: 0 };
  }

  get last(): CommitResult {
    return this.#last;
  }

  addHeader(entry: ChainEntry): void {
    this.#treeChange.headers.push(entry);
  }

  addBody(body: NewBody): void {
    this.#treeChange.bodies.push(body);
  }

  addStatus(entry: ChainEntry): void {
    this.#treeChange.statuses.add(entry);
  }

  /** Yields the entries whose bodies are stored but not committed. */
  *uncommittedBodies(): Generator<ChainEntry> {
    for (const { bodies } of [this.#sealedTreeChange, this.#treeChange]) for (const { entry } of bodies) yield entry;
  }

  /** Whether there are changes that are not sealed yet. */
  get hasChanges(): boolean {
    return this.#deps.active.hasStaged || !isEmptyTreeChange(this.#treeChange);
  }

  /** Whether there are changes that are not committed yet, sealed or not. */
  get hasUncommitted(): boolean {
    return this.#deps.active.sealed !== null || this.hasChanges;
  }

  get isDue(): boolean {
    const { active, clock } = this.#deps;
    return active.rowCount >= ROWS_PER_COMMIT || clock.monotonicMs() - this.#committedAt >= COMMIT_INTERVAL_MS;
  }

  sealChanges(): void {
    this.#deps.active.sealStaged();
    this.#sealedTreeChange = this.#treeChange;
    this.#treeChange = emptyTreeChange();
  }

  /** Seals the changes and begins to build their runs, so that more blocks can be connected meanwhile. */
  sealAhead(): void {
    this.sealChanges();
    this.#deps.store.rows.buildAhead(this.#deps.active.sealed!);
  }

  /** Whether the sealed changes can be committed without waiting for their runs. */
  get isSealedBuilt(): boolean {
    return this.#deps.store.rows.isIdle;
  }

  /** Resolves when the runs of the sealed changes are built. */
  whenSealedBuilt(): Promise<void> {
    return this.#deps.store.rows.whenIdle();
  }

  /**
   * Whether so many changes are staged behind the sealed ones that no block should be connected before the runs of those
   * are built.
   */
  get isBehind(): boolean {
    return this.#deps.active.rowCount >= ROWS_PER_COMMIT;
  }

  /** Returns sealed changes of the tree to the unsealed ones, when the active chain returns to the committed tip. */
  restageSealed(): void {
    this.#deps.store.rows.discardAhead();
    this.#treeChange = mergeTreeChanges(this.#sealedTreeChange, this.#treeChange);
    this.#sealedTreeChange = emptyTreeChange();
  }

  /**
   * Commits the sealed changes, which must be verified. Throws if storage or the follower fails. When a commit fails, the
   * chain accepts no more blocks (`Chain.stopped` has the reason), and the database keeps the state of the commit before.
   */
  commitSealed(): void {
    const { store, tree, active, clock } = this.#deps;
    const sealed = active.sealed!;
    const { connected, disconnected } = netChange(sealed);
    const startedAt = clock.monotonicMs();
    try {
      const events = this.#deriveEvents(sealed.tip, connected, disconnected);
      store.commit({ tree: this.#sealedTreeChange, chain: sealed, bestHeaderHeight: tree.bestHeader.height, events });
    } catch (error) {
      this.#last = { ...this.#last, ok: false };
      throw error;
    }
    active.markCommitted();
    this.#sealedTreeChange = emptyTreeChange();
    this.#committedAt = clock.monotonicMs();
    const durationMs = this.#committedAt - startedAt;
    this.durations.observe(durationMs / 1000);
    this.#last = { ok: true, at: clock.nowMs(), durationMs };
    this.recentBlock = null;
    this.#deps.warnings.update(sealed.tip);
    const commit: ChainCommit = {
      lastSeq: store.lastSeq,
      tip: sealed.tip,
      connected: connected.map(({ entry }) => entry),
      disconnected,
    };
    this.follower?.onCommitted?.(commit);
    this.committed.notify(commit);
    // Last, since followers and observers may read the blocks of the commit.
    this.pruner?.afterCommit();
  }

  /** Announces a tip that was committed outside of `commitSealed`, without blocks. */
  announceTip(tip: ChainEntry): void {
    const unread = () => {
      throw new Error('a move without blocks has no bodies');
    };
    this.follower?.follow({ disconnected: [], connected: [], tip, settled: true, readBlock: unread });
    this.announceProgress();
  }

  /** Notifies the follower and the observers of a change that moves no block. */
  announceProgress(): void {
    const commit: ChainCommit = {
      lastSeq: this.#deps.store.lastSeq,
      tip: this.#deps.active.committedTip,
      connected: [],
      disconnected: [],
    };
    this.follower?.onCommitted?.(commit);
    this.committed.notify(commit);
  }

  /**
   * Returns the numbered events of a move. Events of the follower come after those of the blocks and before the reorg
   * event.
   */
  #deriveEvents(tip: ChainEntry, connected: readonly StagedBlock[], disconnected: readonly ChainEntry[]) {
    const { store, tree, active, sync, params, clock } = this.#deps;
    const time = unixSeconds(clock);
    const bodyOf = (entry: ChainEntry) =>
      entry === this.recentBlock?.entry ? this.recentBlock.block : store.readBlock(entry);
    const numbered = (event: { type: string; data: object }) => ({ seq: store.nextSeq(), ...event });
    const facts = { params: params.consensus, time, initialSync: sync.active, headers: tree.bestHeader.height, bodyOf };
    const events = blockEvents(connected, disconnected, facts).map(numbered);
    if (events.length === 0) return events;
    const move: ChainMove = {
      disconnected,
      connected: connected.map(({ entry }) => entry),
      tip,
      settled: active.tip === tip,
      readBlock: bodyOf,
    };
    this.follower?.follow(move);
    if (disconnected.length > 0) {
      const data = reorgEvent(move, { follower: this.follower, time, format: params.address });
      events.push(numbered({ type: 'reorg', data }));
    }
    return events;
  }
}

/** Time without a block after which collected changes are committed, milliseconds. */
const IDLE_COMMIT_MS = 500;

/** Commits collected changes when no further block arrives that would lead to a commit. */
export class IdleCommit {
  readonly #committer: ChainCommitter;
  readonly #settle: () => Promise<void>;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(committer: ChainCommitter, settle: () => Promise<void>) {
    this.#committer = committer;
    this.#settle = settle;
  }

  disarm(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /**
   * Starts the timer unless it runs already or there is nothing to commit. `soon` commits in the next turn of the event
   * loop, so that readers see a new header while its block is on its way.
   */
  arm({ soon = false }: { readonly soon?: boolean } = {}): void {
    if (soon) this.disarm();
    if (this.#timer !== null || !this.#committer.hasUncommitted) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = null;
        // A failure closes the chain's queue and is kept in `Chain.stopped`.
        this.#settle().catch(() => {});
      },
      soon ? 0 : IDLE_COMMIT_MS,
    );
  }
}
