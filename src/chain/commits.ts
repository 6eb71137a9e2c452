import type { ConsensusParams } from '../consensus/consensus-params.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import { type ActiveChain, netChange } from './active-chain.ts';
import type { ChainEntry } from './chain-entry.ts';
import type { ChainStore } from './chain-store.ts';
import { type ChainCommit, commitEvents } from './events.ts';
import type { HeaderTree } from './header-tree.ts';
import type { InitialSync } from './initial-sync.ts';
import { emptyTreeChange, isEmptyTreeChange, mergeTreeChanges, type NewBody } from './tree-change.ts';

/** In initial sync a commit gathers this many rows of the address index, or this much time. */
const ROWS_PER_COMMIT = 500_000;
const COMMIT_INTERVAL_MS = 5_000;

export interface CommitResult {
  readonly ok: boolean;
  /** Unix milliseconds. */
  readonly at: number;
  readonly durationMs: number;
}

export interface CommitDeps {
  readonly store: ChainStore;
  readonly tree: HeaderTree;
  readonly active: ActiveChain;
  readonly sync: InitialSync;
  readonly params: ConsensusParams;
  readonly clock: Clock;
}

/** Gathers what the next commit moves of the header tree, decides when it is due, and tells of it when it is written. */
export class Commits {
  readonly #deps: CommitDeps;
  readonly #listeners = new Set<(commit: ChainCommit) => void>();
  #changes = emptyTreeChange();
  /** Those that go with what the active chain has sealed. */
  #sealed = emptyTreeChange();
  /** On the monotonic clock. */
  #writtenAt: number;
  #last: CommitResult;
  #totalMs = 0;

  constructor(deps: CommitDeps) {
    this.#deps = deps;
    this.#writtenAt = deps.clock.monotonicMs();
    this.#last = { ok: true, at: deps.clock.nowMs(), durationMs: 0 };
  }

  get last(): CommitResult {
    return this.#last;
  }

  /** Milliseconds spent in commits so far. */
  get totalMs(): number {
    return this.#totalMs;
  }

  /** Listeners are told in order, after each commit. Returns how to leave. */
  listen(listener: (commit: ChainCommit) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  addHeader(entry: ChainEntry): void {
    this.#changes.headers.push(entry);
  }

  addBody(body: NewBody): void {
    this.#changes.bodies.push(body);
  }

  addStatus(entry: ChainEntry): void {
    this.#changes.statuses.add(entry);
  }

  /** Whether anything is gathered that is not sealed. */
  get pending(): boolean {
    return this.#deps.active.changed || !isEmptyTreeChange(this.#changes);
  }

  get due(): boolean {
    const { active, clock } = this.#deps;
    return active.rowCount >= ROWS_PER_COMMIT || clock.monotonicMs() - this.#writtenAt >= COMMIT_INTERVAL_MS;
  }

  seal(): void {
    this.#deps.active.seal();
    this.#sealed = this.#changes;
    this.#changes = emptyTreeChange();
  }

  /** Takes back what was sealed and not written, when the active chain goes back to the committed tip. */
  unseal(): void {
    this.#changes = mergeTreeChanges(this.#sealed, this.#changes);
    this.#sealed = emptyTreeChange();
  }

  /** One commit of what is sealed and judged valid. Throws where storage fails. */
  write(): void {
    const { store, tree, active, sync, params, clock } = this.#deps;
    const sealed = active.sealed!;
    const { connected, disconnected } = netChange(sealed);
    const startedAt = clock.monotonicMs();
    try {
      store.commit({
        tree: this.#sealed,
        chain: sealed,
        bestHeaderHeight: tree.best.height,
        events: commitEvents(connected, disconnected, {
          params,
          time: unixSeconds(clock),
          initialSync: sync.active,
          headers: tree.best.height,
          newTip: sealed.tip,
          bodyOf: (entry) => store.readBlock(entry),
        }),
      });
    } catch (error) {
      this.#last = { ...this.#last, ok: false };
      throw error;
    }
    active.written();
    this.#sealed = emptyTreeChange();
    this.#writtenAt = clock.monotonicMs();
    const durationMs = this.#writtenAt - startedAt;
    this.#totalMs += durationMs;
    this.#last = { ok: true, at: clock.nowMs(), durationMs };
    const commit: ChainCommit = {
      lastSeq: store.lastSeq,
      tip: sealed.tip,
      connected: connected.map(({ entry }) => entry),
      disconnected,
    };
    for (const listener of this.#listeners) listener(commit);
  }
}
