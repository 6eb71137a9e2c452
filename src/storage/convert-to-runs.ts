import type { Database } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { noteProgress } from '../util/progress.ts';
import { syncDirectory } from '../util/sync-directory.ts';
import { batchCoin } from './coin-store.ts';
import { MAX_PAIR_SIZE, putPair } from './runs/pair-codec.ts';
import { RunBatch } from './runs/run-batch.ts';
import { buildRun } from './runs/run-builder.ts';
import { COINS, HISTORY, type RunFamily, SCRIPT_COINS, TX_INDEX } from './runs/run-family.ts';
import { RUN_SCHEMA, RunManifestWriter, runFileName, runFolder } from './runs/run-manifest.ts';
import { putPosition } from './runs/run-range.ts';
import { SCRIPT_KEY_SIZE, SCRIPT_SALT_SIZE, ScriptKeys } from './script-store.ts';

/** Entries of one run: enough for few runs, few enough to be sorted in memory. */
const ENTRIES_PER_RUN = 1_000_000;

/** Creates the secret salt of the keys of scripts, unless the database has one. */
export function createScriptSalt(db: Database): Uint8Array {
  const salt = crypto.getRandomValues(new Uint8Array(SCRIPT_SALT_SIZE)).toHex();
  db.prepare("INSERT OR IGNORE INTO meta (key, value) VALUES ('scriptSalt', ?)").run(salt);
  const row = db.query<{ value: string }, []>("SELECT value FROM meta WHERE key = 'scriptSalt'").get();
  return Uint8Array.fromHex(row!.value);
}

/**
 * Converts a database of schema version 1, which had coins, the transaction index and the address index in tables, to
 * runs, within the transaction of the caller. The files are durable before it commits; the next start removes those of
 * an interrupted conversion.
 */
export function convertToRuns(db: Database, chainDir: string): void {
  db.run(RUN_SCHEMA);
  const keys = new ScriptKeys(createScriptSalt(db));
  const folder = runFolder(chainDir);
  if (mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined) syncDirectory(dirname(folder));
  const runs = new ConvertedRuns(db, folder);
  const position = (row: unknown) => (row as { position: number }).position;

  runs.convert(COINS, 'SELECT outpoint, position, value, script FROM coins ORDER BY outpoint', (batch, row) => {
    const { outpoint, position, value, script } = row as {
      outpoint: Uint8Array;
      position: number;
      value: number;
      script: Uint8Array;
    };
    batchCoin(batch, outpoint, position, value, script, 0, script.length);
  });
  runs.convert(TX_INDEX, 'SELECT prefix, position FROM tx_index', (batch, row) => {
    batch.beginEntry(false, 0);
    // The prefix is six bytes, as a position is.
    putPosition(batch.keys, batch.keyAt, (row as { prefix: number }).prefix);
    putPosition(batch.keys, batch.keyAt + 6, position(row));
    batch.finishEntry(batch.valueAt);
  });
  // Rows of one script follow each other, so that few of the scripts are looked up in random order.
  runs.convert(
    HISTORY,
    `SELECT s.hash, h.position, h.received, h.sent FROM scripts s JOIN history h ON h.script_id = s.id`,
    (batch, row) => {
      const { hash, received, sent } = row as { hash: Uint8Array; received: number; sent: number };
      batch.beginEntry(false, MAX_PAIR_SIZE);
      keys.putKey(hash, batch.keys, batch.keyAt);
      putPosition(batch.keys, batch.keyAt + SCRIPT_KEY_SIZE, position(row));
      batch.finishEntry(putPair(batch.values, batch.valueAt, received, sent));
    },
  );
  runs.convert(
    SCRIPT_COINS,
    `SELECT s.hash, c.position, c.vout, c.value FROM scripts s JOIN script_coins c ON c.script_id = s.id`,
    (batch, row) => {
      const { hash, vout, value } = row as { hash: Uint8Array; vout: number; value: number };
      batch.beginEntry(false, MAX_PAIR_SIZE);
      keys.putKey(hash, batch.keys, batch.keyAt);
      const at = batch.keyAt + SCRIPT_KEY_SIZE;
      putPosition(batch.keys, at, position(row));
      new DataView(batch.keys.buffer).setUint32(at + 6, vout);
      batch.finishEntry(putPair(batch.values, batch.valueAt, value, 0));
    },
  );
  syncDirectory(folder);
  runs.finish();
  for (const table of ['coins', 'tx_index', 'history', 'script_coins', 'scripts']) db.run(`DROP TABLE ${table}`);
  db.run("DELETE FROM meta WHERE key = 'lastScriptId'");
}

/** Writes the rows of tables as runs and lists them. */
class ConvertedRuns {
  readonly #db: Database;
  readonly #folder: string;
  readonly #writer: RunManifestWriter;
  #id = 0;

  constructor(db: Database, folder: string) {
    this.#db = db;
    this.#folder = folder;
    this.#writer = new RunManifestWriter(db);
  }

  /** Adds each row of a query to a batch with `add`, and writes the batches. */
  convert(family: RunFamily, query: string, add: (batch: RunBatch, row: unknown) => void): void {
    let batch = new RunBatch(family);
    let age = 0;
    for (const row of this.#db.prepare(query).iterate()) {
      add(batch, row);
      if (batch.count < ENTRIES_PER_RUN) continue;
      this.#write(batch, ++age);
      batch = new RunBatch(family);
    }
    if (batch.count > 0) this.#write(batch, ++age);
  }

  finish(): void {
    this.#writer.setVersion(1);
  }

  #write(batch: RunBatch, age: number): void {
    noteProgress();
    const id = ++this.#id;
    const { family } = batch;
    const path = join(this.#folder, runFileName(id, family));
    const { entries, bytes } = buildRun(family, id, path, batch.count, (builder) => batch.writeTo(builder));
    this.#writer.insertRun({ id, family, age, entries, bytes }, null);
  }
}
