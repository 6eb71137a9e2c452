import type { Database } from 'bun:sqlite';
import { join } from 'node:path';
import type { AddressRows } from '../../src/indexes/address-rows.ts';
import { openWriter } from '../../src/storage/chain-database.ts';
import { closeDatabase } from '../../src/storage/database.ts';
import type { MergeJob } from '../../src/storage/runs/merge-runs.ts';
import { mergeRuns } from '../../src/storage/runs/merge-runs.ts';
import { RunBatch } from '../../src/storage/runs/run-batch.ts';
import type { BuiltRun } from '../../src/storage/runs/run-builder.ts';
import { COINS, HISTORY, RUN_FAMILIES, type RunFamily, SCRIPT_COINS } from '../../src/storage/runs/run-family.ts';
import type { RunLists } from '../../src/storage/runs/run-lists.ts';
import { allLiveEntries } from '../../src/storage/runs/run-range.ts';
import { RunStore } from '../../src/storage/runs/run-store.ts';
import type { ScriptKeys } from '../../src/storage/script-store.ts';
import { ManualClock } from './manual-clock.ts';
import { type KeyChange, pairValue, RunModel } from './run-model.ts';

const IDENTITY = { network: 'regtest', genesisHash: '00' };

/** A database with a store of runs, as the chain has it, and nothing else. */
export class StoreOfRuns {
  readonly clock = new ManualClock(0);
  readonly #db: Database;
  readonly store: RunStore;

  constructor(dir: string) {
    this.#db = openWriter(join(dir, 'chain.db'), IDENTITY, 1);
    try {
      this.store = new RunStore(this.#db, dir, this.clock);
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  commit(batches: readonly RunBatch[]): void {
    for (const _ of this.commitSteps(batches));
  }

  /** Yields after each step of a commit; the last two are those behind its end. */
  *commitSteps(batches: readonly RunBatch[]): Generator<string> {
    this.store.stageBatches(batches);
    yield 'staged';
    this.#db.run('BEGIN IMMEDIATE');
    this.store.insertStaged();
    yield 'inserted';
    this.#db.run('COMMIT');
    yield 'committed';
    this.store.onCommitted();
    yield 'opened';
  }

  /** Runs statements on the connection of the writer. */
  runSql(...statements: readonly string[]): void {
    for (const sql of statements) this.#db.run(sql);
  }

  /** Runs all merges that are due. Returns their number. */
  merge(run: (job: MergeJob) => BuiltRun = mergeRuns): number {
    let merges = 0;
    for (let job = this.store.beginMerge(); job !== null; job = this.store.beginMerge(), merges++)
      this.store.finishMerge(run(job));
    return merges;
  }

  close(): void {
    this.store.close();
    closeDatabase(this.#db);
  }
}

/** Returns the rows of the address index as batches of the history and of the coins of scripts. */
export function addressBatches(rows: AddressRows, keys: ScriptKeys): RunBatch[] {
  const history = new RunBatch(HISTORY);
  const coins = new RunBatch(SCRIPT_COINS);
  rows.addToBatches(keys, history, coins);
  return [history, coins];
}

/** The live entries of all families, as text. */
export function liveState(runs: RunLists): string[] {
  return RUN_FAMILIES.flatMap((family) =>
    Array.from(
      allLiveEntries(runs.runsOf(family)),
      ({ keys, keyAt, bytes, from, to }) =>
        `${family.name} ${keys.slice(keyAt, keyAt + family.keySize).toHex()} ${Bun.hash(bytes.subarray(from, to))}`,
    ),
  );
}

/** Commits of pseudo-random changes of all families, and the state that they must leave. */
export class ChangeSource {
  readonly #models = RUN_FAMILIES.map((family) => new RunModel(family));
  #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** Returns the batches of the next commit. Coins have large scripts if `large`, so that their run is a file. */
  next(entries: number, large: boolean): RunBatch[] {
    return this.#models.map((model) =>
      model.commit(Array.from({ length: entries }, () => this.#change(model.family, large))),
    );
  }

  /** Lines as those of `liveState`. */
  state(): string[] {
    return this.#models.flatMap((model) =>
      [...model.state]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, value]) => `${model.family.name} ${key} ${Bun.hash(value)}`),
    );
  }

  #change(family: RunFamily, large: boolean): KeyChange {
    const key = new Uint8Array(family.keySize).fill(7);
    // Few enough keys that commits change those of earlier ones.
    new DataView(key.buffer).setUint32(2, this.#random(400) * 1_000_003);
    const first = this.#random(2 ** 31) * this.#random(2 ** 21);
    const value = family.sums
      ? pairValue(first, this.#random(2 ** 31))
      : new Uint8Array(family.filterSize === 0 ? 0 : large && family === COINS ? 10_000 : 30).fill(first);
    return { key, value, replace: this.#random(3) === 0 };
  }

  #random(below: number): number {
    this.#seed = (Math.imul(this.#seed, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor(((this.#seed >>> 1) / 2 ** 31) * below);
  }
}
