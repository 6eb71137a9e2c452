import type { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { repeatedCoinbaseHeight } from '../../consensus/bip30.ts';
import { IndexRows } from '../../indexes/index-rows.ts';
import type { ParsedBlock } from '../../primitives/block.ts';
import { txPosition } from '../../primitives/coin.ts';
import { readTxUndo } from '../../primitives/undo.ts';
import { isUnspendable } from '../../script/templates.ts';
import { batchCoin, coinKey } from '../../storage/coin-store.ts';
import { type IndexName, IndexStore } from '../../storage/index-store.ts';
import { MetaStore } from '../../storage/meta-store.ts';
import { RunBatch } from '../../storage/runs/run-batch.ts';
import {
  familyTitle,
  HISTORY,
  type RunFamily,
  SCRIPT_COINS,
  SPENDERS,
  TX_INDEX,
} from '../../storage/runs/run-family.ts';
import type { RunLists } from '../../storage/runs/run-lists.ts';
import { mergedEntries } from '../../storage/runs/run-range.ts';
import { ScriptKeys } from '../../storage/script-store.ts';
import { ByteReader } from '../../util/bytes.ts';
import type { ChainEntry } from '../chain-entry.ts';
import type { HeaderTree } from '../header-tree.ts';
import type { Findings } from './findings.ts';
import { RowDifference, type RowSink, RowSums } from './row-sums.ts';

/** Families of the rows of each index that is stored as runs. */
const INDEX_FAMILIES: readonly (readonly [IndexName, readonly RunFamily[]])[] = [
  ['tx', [TX_INDEX]],
  ['address', [HISTORY, SCRIPT_COINS]],
  ['spender', [SPENDERS]],
];

/** Entries that are read between two pauses. */
const ENTRIES_AT_ONCE = 20_000;
/** Buckets of a family that are searched for the rows that differ, and rows that are named. */
const BUCKETS_SEARCHED = 32;
const ROWS_NAMED = 8;

/** The chain whose rows are compared. */
interface ComparedRows {
  readonly tree: HeaderTree;
  readonly tip: ChainEntry | undefined;
  /** Family of its coins. */
  readonly coins: RunFamily;
}

/**
 * The rows of coins and indexes as they follow from the blocks, compared with those that are stored: first by sums, then,
 * where these differ, row by row.
 */
export class RowCheck {
  readonly #chainDir: string;
  readonly #findings: Findings;
  readonly #keys: ScriptKeys;
  readonly #indexes = new Set<IndexName>();
  readonly #families: RunFamily[];
  readonly #rows = new IndexRows();
  readonly #created: RunBatch;
  readonly #spent: RunBatch;
  readonly #sums = new RowSums();
  #difference: RowDifference | null = null;

  /** `coins`: the family of the coins of the chain that ends at `tip`. */
  constructor(db: Database, chainDir: string, { tip, coins, tree }: ComparedRows, findings: Findings) {
    this.#chainDir = chainDir;
    this.#findings = findings;
    this.#families = [coins];
    this.#created = new RunBatch(coins);
    this.#spent = new RunBatch(coins);
    this.#keys = new ScriptKeys(new MetaStore(db).scriptSalt());
    const store = new IndexStore(db);
    // An index that does not cover the tip is not used; it is completed first.
    for (const [name, families] of INDEX_FAMILIES) {
      const covered = store.covered(name);
      if (covered === null || tree.findEntry(covered.hash) !== tip) continue;
      this.#indexes.add(name);
      this.#families.push(...families);
    }
  }

  /** The indexes that are compared. */
  get indexes(): ReadonlySet<IndexName> {
    return this.#indexes;
  }

  /** Adds the rows of a block of the chain. */
  addBlock(block: ParsedBlock, undo: Uint8Array, height: number): void {
    const sink: RowSink = this.#difference ?? this.#sums;
    this.#rows.addBlock(block, undo, { height, indexes: this.#indexes, removed: false });
    for (const batch of this.#rows.batches(this.#keys)) sink.addBatch(batch, 1);
    this.#rows.clear();
    this.#addCoins(block, undo, height);
    sink.addBatch(this.#created, 1);
    sink.addBatch(this.#spent, -1);
    this.#created.clear();
    this.#spent.clear();
  }

  /** Subtracts the stored rows. Yields between slices of work. Throws if a run is damaged. */
  *addStored(runs: RunLists): Generator<undefined> {
    const sink: RowSink = this.#difference ?? this.#sums;
    let entries = 0;
    for (const family of this.#families)
      for (const { removed, keys, keyAt, bytes, from, to } of mergedEntries(runs.runsOf(family))) {
        sink.addEntry(family, removed ? 1 : -1, keys, keyAt, bytes, from, to);
        if (++entries % ENTRIES_AT_ONCE === 0) yield;
      }
  }

  /** Returns whether all sums agree. Otherwise a second pass over blocks and stored rows names those that differ. */
  prepareSecondPass(): boolean {
    const buckets = new Map<RunFamily, ReadonlySet<number>>();
    for (const family of this.#families) {
      const differing = this.#sums.differing(family);
      if (differing.length > 0) buckets.set(family, new Set(differing.slice(0, BUCKETS_SEARCHED)));
    }
    if (buckets.size === 0) return true;
    this.#difference = new RowDifference(buckets);
    return false;
  }

  /** Reports the rows that differ, after the second pass. */
  report(): void {
    const difference = this.#difference!;
    for (const family of this.#families) {
      const buckets = this.#sums.differing(family).length;
      if (buckets === 0) continue;
      const rows = difference.differences(family);
      const where = `family ${familyTitle(family)}`;
      const more = difference.overflow || rows.length > ROWS_NAMED || buckets > BUCKETS_SEARCHED;
      for (const { key, missing } of rows.slice(0, ROWS_NAMED))
        this.#findings.addFinding(
          join(this.#chainDir, 'runs'),
          `${where}, key ${key}`,
          missing ? 'the row of the blocks is missing' : 'no block has this row',
        );
      if (more || rows.length === 0)
        this.#findings.addFinding(
          join(this.#chainDir, 'runs'),
          where,
          `its rows differ from those of the blocks in ${buckets} of 65536 ranges of keys`,
        );
    }
  }

  #addCoins(block: ParsedBlock, undo: Uint8Array, height: number): void {
    // The coinbase of the genesis block never was a coin.
    if (height === 0) return;
    const repeated = repeatedCoinbaseHeight(block.hash, height);
    const r = new ByteReader(undo);
    for (let i = 0; i < block.txs.length; i++) {
      const { tx, txid } = block.txs[i]!;
      if (i > 0)
        for (const [n, { position, output }] of readTxUndo(r, tx.inputs.length).entries())
          addCoin(this.#spent, coinKey(tx.inputs[n]!.prevout), position, output.value, output.scriptPubKey);
      for (let vout = 0; vout < tx.outputs.length; vout++) {
        const { value, scriptPubKey } = tx.outputs[vout]!;
        if (isUnspendable(scriptPubKey)) continue;
        const key = coinKey({ txid, vout });
        // The earlier coinbase has the same outputs, which are lost.
        if (i === 0 && repeated !== null) addCoin(this.#spent, key, txPosition(repeated, 0), value, scriptPubKey);
        addCoin(this.#created, key, txPosition(height, i), value, scriptPubKey);
      }
    }
  }
}

function addCoin(batch: RunBatch, key: Uint8Array, position: number, value: bigint, script: Uint8Array): void {
  batchCoin(batch, key, position, Number(value), script, 0, script.length);
}
