import type { Database } from 'bun:sqlite';
import type { FilePosition } from '../storage/block-files.ts';
import { HeaderStatus } from '../storage/chain-schema.ts';
import { durably, transact } from '../storage/database.ts';
import type { ChainTotals, HeaderWriter } from '../storage/header-store.ts';
import { type LoadedSet, LoadedSetStore } from '../storage/loaded-set-store.ts';
import type { BackgroundMerges } from '../storage/runs/background-merges.ts';
import { BACKGROUND_COINS, COINS } from '../storage/runs/run-family.ts';
import type { RunStore, UnlistedRun } from '../storage/runs/run-store.ts';
import { type ChainEntry, forkPoint } from './chain-entry.ts';
import type { SealedChange } from './connect-block.ts';

/** A block, and the totals up to it. */
export interface ChainAt {
  readonly tip: ChainEntry;
  readonly totals: ChainTotals;
}

export interface LoadedSetWriterDeps {
  readonly db: Database;
  readonly runs: RunStore;
  readonly merges: BackgroundMerges;
  readonly headers: HeaderWriter;
  /** Appends the undo data of blocks to the undo files, durably. */
  readonly appendUndo: (connected: SealedChange['connected']) => readonly FilePosition[];
}

/** The writes for a loaded UTXO set and for the chain that is validated behind it, each in one transaction. */
export class LoadedSetWriter {
  readonly #deps: LoadedSetWriterDeps;
  readonly #stored: LoadedSetStore;

  constructor(deps: LoadedSetWriterDeps) {
    this.#deps = deps;
    this.#stored = new LoadedSetStore(deps.db);
  }

  /** The UTXO set that was loaded and is not validated yet; null without one. */
  storedSet(): LoadedSet | null {
    return this.#stored.get();
  }

  /**
   * Makes a loaded UTXO set the coins of the active chain, which moves from `before` to `base`. The coins of the active chain
   * become those of the background chain.
   */
  activateSet(run: UnlistedRun, base: ChainEntry, totals: ChainTotals, before: ChainAt): void {
    const { runs, headers } = this.#deps;
    const { tip } = before;
    const change = { removed: BACKGROUND_COINS, from: COINS, to: BACKGROUND_COINS, added: run };
    const fork = forkPoint(tip, base);
    runs.changeFamilies(change, () => {
      headers.cutAbove(fork.height);
      for (let height = fork.height + 1; height < base.height; height++)
        headers.extendAssumed(height, base.ancestor(height)!.id);
      headers.extend(base.height, base.id, totals);
      this.#stored.put({ base: base.hash, tip: tip.hash, validated: false, totals: before.totals });
    });
  }

  /**
   * Commits blocks of the background chain: coins, undo data and totals. `validated`: whether its coins were those of the
   * set at the base.
   */
  commitBackground(
    { connected, coins, tip }: SealedChange,
    { base, validated, totals }: Pick<LoadedSet, 'validated' | 'totals'> & { readonly base: ChainEntry },
  ): void {
    const { db, runs, merges, headers, appendUndo } = this.#deps;
    // Undo data of blocks that the active chain has connected lacks positions of transactions, so it is replaced.
    const undoPositions = appendUndo(connected);
    runs.stageBatches([coins]);
    const write = () => {
      connected.forEach(({ entry, effects, circulating, utxos, txs }, i) => {
        headers.setUndo(entry.id, undoPositions[i]!, effects.fees);
        headers.setTotals(entry.height, entry.id, { circulating, utxos, txs });
      });
      runs.insertStaged();
      this.#stored.put({ base: base.hash, tip: tip.hash, validated, totals });
    };
    transact(db, write, (mayBeCommitted) => runs.discardStaged({ mayBeCommitted }));
    runs.onCommitted();
    connected.forEach(({ entry }, i) => {
      entry.undo = undoPositions[i]!;
      entry.status |= HeaderStatus.HAVE_UNDO | HeaderStatus.HAD_UNDO;
    });
    merges.schedule();
  }

  /** Records that the background chain has reached the base with the coins of the loaded set. */
  markValidated(): void {
    const { db } = this.#deps;
    const set = this.#stored.get()!;
    durably(db, () => db.transaction(() => this.#stored.put({ ...set, validated: true })).immediate());
  }

  /** Makes the coins of the background chain those of the active chain; both are at the same tip. */
  adoptBackground(): void {
    const change = { removed: COINS, from: BACKGROUND_COINS, to: COINS, added: null };
    this.#deps.runs.changeFamilies(change, () => this.#stored.remove());
  }

  /**
   * Removes a loaded set that turned out to be wrong: the active chain ends at the tip of the background chain,
   * which is a block of it.
   */
  removeSet(tip: ChainEntry): void {
    const { runs, headers } = this.#deps;
    runs.changeFamilies({ removed: COINS, from: BACKGROUND_COINS, to: COINS, added: null }, () => {
      headers.cutAbove(tip.height);
      this.#stored.remove();
    });
  }
}
