import type { Database } from 'bun:sqlite';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DecodeError } from '../util/bytes.ts';
import { batchCoin } from './coin-store.ts';
import type { ConversionProgress } from './conversion-progress.ts';
import { dueMerge } from './runs/merge-policy.ts';
import { mergeRuns } from './runs/merge-runs.ts';
import { MAX_PAIR_SIZE, putPair } from './runs/pair-codec.ts';
import { RunBatch } from './runs/run-batch.ts';
import { buildRun } from './runs/run-builder.ts';
import { COINS, HISTORY, type RunFamily, SCRIPT_COINS, TX_INDEX } from './runs/run-family.ts';
import { type RunManifestWriter, type RunRecord, runFileName, runFolder } from './runs/run-manifest.ts';
import { putPosition } from './runs/run-range.ts';
import { SCRIPT_KEY_SIZE, ScriptKeys } from './script-store.ts';

/** Entries of one run before merges: enough for few runs, few enough to be sorted in memory. */
const ENTRIES_PER_RUN = 1_000_000;
/** Scripts whose keys are in memory at once, 10 bytes each. */
const SCRIPTS_PER_PASS = 16_000_000;
/** Rows between two reports of progress. */
const REPORT_ROWS = 1 << 12;

export interface RowConversion {
  readonly salt: Uint8Array;
  /** Lists the runs. */
  readonly writer: RunManifestWriter;
  readonly progress: ConversionProgress;
}

interface CoinColumns {
  readonly outpoint: Uint8Array;
  readonly position: number;
  readonly value: number;
  readonly script: Uint8Array;
}

interface HistoryColumns {
  readonly script_id: number;
  readonly position: number;
  readonly received: number;
  readonly sent: number;
}

interface ScriptCoinColumns {
  readonly script_id: number;
  readonly position: number;
  readonly vout: number;
  readonly value: number;
}

/** Writes coins, transaction index and address index of a database of schema version 1 as runs, and lists them. */
export function convertRows(old: Database, chainDir: string, { salt, writer, progress }: RowConversion): void {
  const totals = old
    .query<{ utxos: number; txs: number }, []>('SELECT utxos, txs FROM chain ORDER BY height DESC LIMIT 1')
    .get();

  const coins = new ConvertedFamily(COINS, chainDir, writer, progress);
  const coinRows = old.prepare<CoinColumns, []>('SELECT outpoint, position, value, script FROM coins');
  for (const row of coinRows.iterate()) {
    batchCoin(coins.batch, row.outpoint, row.position, row.value, row.script, 0, row.script.length);
    coins.finishRow(coins.rows / (totals?.utxos ?? 1));
  }
  coinRows.finalize();
  coins.finish();

  const txs = new ConvertedFamily(TX_INDEX, chainDir, writer, progress, coins.nextId);
  const txRows = old.prepare<{ prefix: number; position: number }, []>('SELECT prefix, position FROM tx_index');
  for (const { prefix, position } of txRows.iterate()) {
    const { batch } = txs;
    batch.beginEntry(false, 0);
    // The prefix is six bytes, as a position is.
    putPosition(batch.keys, batch.keyAt, prefix);
    putPosition(batch.keys, batch.keyAt + 6, position);
    batch.finishEntry(batch.valueAt);
    txs.finishRow(txs.rows / (totals?.txs ?? 1));
  }
  txRows.finalize();
  txs.finish();

  convertAddressIndex(old, chainDir, txs.nextId, { salt, writer, progress });
}

/** Rows refer to scripts by id, so their keys are read into memory, in passes over ranges of ids. */
function convertAddressIndex(
  old: Database,
  chainDir: string,
  firstId: number,
  { salt, writer, progress }: RowConversion,
): void {
  const scripts = new ScriptKeyRange(old, salt, progress);
  const historyRows = old.prepare<HistoryColumns, [number, number]>(
    'SELECT script_id, position, received, sent FROM history WHERE script_id BETWEEN ? AND ?',
  );
  const history = new ConvertedFamily(HISTORY, chainDir, writer, progress, firstId);
  for (const { first, last } of scripts.ranges()) {
    for (const row of historyRows.iterate(first, last)) {
      const { batch } = history;
      batch.beginEntry(false, MAX_PAIR_SIZE);
      scripts.putKey(row.script_id, batch.keys, batch.keyAt);
      putPosition(batch.keys, batch.keyAt + SCRIPT_KEY_SIZE, row.position);
      batch.finishEntry(putPair(batch.values, batch.valueAt, row.received, row.sent));
      history.finishRow(row.script_id / scripts.lastId);
    }
  }
  historyRows.finalize();
  history.finish();

  const coinRows = old.prepare<ScriptCoinColumns, [number, number]>(
    'SELECT script_id, position, vout, value FROM script_coins WHERE script_id BETWEEN ? AND ?',
  );
  const coins = new ConvertedFamily(SCRIPT_COINS, chainDir, writer, progress, history.nextId);
  for (const { first, last } of scripts.ranges()) {
    for (const row of coinRows.iterate(first, last)) {
      const { batch } = coins;
      batch.beginEntry(false, MAX_PAIR_SIZE);
      scripts.putKey(row.script_id, batch.keys, batch.keyAt);
      const at = batch.keyAt + SCRIPT_KEY_SIZE;
      putPosition(batch.keys, at, row.position);
      new DataView(batch.keys.buffer).setUint32(at + 6, row.vout);
      batch.finishEntry(putPair(batch.values, batch.valueAt, row.value, 0));
      coins.finishRow(row.script_id / scripts.lastId);
    }
  }
  coinRows.finalize();
  coins.finish();
}

/** Keys of the scripts of a range of ids. */
class ScriptKeyRange {
  readonly lastId: number;
  readonly #old: Database;
  readonly #hashing: ScriptKeys;
  readonly #progress: ConversionProgress;
  #first = 0;
  /** The range that `#bytes` is filled for. */
  #loaded = -1;
  #bytes = new Uint8Array(0);

  constructor(old: Database, salt: Uint8Array, progress: ConversionProgress) {
    this.#old = old;
    this.#hashing = new ScriptKeys(salt);
    this.#progress = progress;
    this.lastId =
      old.query<{ value: number }, []>("SELECT value FROM meta WHERE key = 'lastScriptId'").get()?.value ?? 0;
  }

  /** Yields ranges that cover all ids, each with its keys in memory. */
  *ranges(): Generator<{ first: number; last: number }> {
    for (let first = 0; first <= this.lastId; first += SCRIPTS_PER_PASS) {
      const last = Math.min(first + SCRIPTS_PER_PASS - 1, this.lastId);
      if (this.#loaded !== first) this.#load(first, last);
      yield { first, last };
    }
  }

  putKey(id: number, out: Uint8Array, at: number): void {
    const from = (id - this.#first) * SCRIPT_KEY_SIZE;
    let bits = 0;
    for (let i = 0; i < SCRIPT_KEY_SIZE; i++) {
      const byte = this.#bytes[from + i]!;
      bits |= byte;
      out[at + i] = byte;
    }
    // No hash of a script is zero.
    if (bits === 0) throw new DecodeError(`the address index has rows of script ${id}, which is missing`);
  }

  #load(first: number, last: number): void {
    this.#first = first;
    this.#bytes = new Uint8Array((last - first + 1) * SCRIPT_KEY_SIZE);
    let rows = 0;
    const all = this.#old.prepare<{ hash: Uint8Array; id: number }, []>('SELECT hash, id FROM scripts');
    for (const { hash, id } of all.iterate()) {
      // The hash is the key of the table, so that its first bytes show how much is done.
      if (++rows % REPORT_ROWS === 0) this.#progress.update('scripts', rows, (hash[0]! * 256 + hash[1]!) / 65_536);
      if (id >= first && id <= last) this.#hashing.putKey(hash, this.#bytes, (id - first) * SCRIPT_KEY_SIZE);
    }
    all.finalize();
    this.#loaded = first;
  }
}

interface ConvertedRun extends RunRecord {
  readonly image: Uint8Array | null;
}

/** Writes the rows of one family as runs, and merges these as the storage does later. */
class ConvertedFamily {
  readonly batch: RunBatch;
  /** Rows so far. */
  rows = 0;
  readonly #family: RunFamily;
  readonly #chainDir: string;
  readonly #writer: RunManifestWriter;
  readonly #progress: ConversionProgress;
  #runs: ConvertedRun[] = [];
  #nextId: number;
  #age = 0;

  constructor(
    family: RunFamily,
    chainDir: string,
    writer: RunManifestWriter,
    progress: ConversionProgress,
    firstId = 1,
  ) {
    this.batch = new RunBatch(family);
    this.#family = family;
    this.#chainDir = chainDir;
    this.#writer = writer;
    this.#progress = progress;
    this.#nextId = firstId;
  }

  /** The first id that no run has. */
  get nextId(): number {
    return this.#nextId;
  }

  /** Called after each row is added to the batch; `fraction` of the table is done. */
  finishRow(fraction: number): void {
    this.rows++;
    if (this.rows % REPORT_ROWS === 0) this.#progress.update(this.#family.name, this.rows, fraction);
    if (this.batch.count >= ENTRIES_PER_RUN) this.#writeBatch();
  }

  /** Writes what remains, and lists the runs. */
  finish(): void {
    if (this.batch.count > 0) this.#writeBatch();
    for (const { image, ...record } of this.#runs) this.#writer.insertRun(record, image);
  }

  #writeBatch(): void {
    const { batch } = this;
    this.#progress.step();
    const id = this.#nextId++;
    const built = buildRun(this.#family, id, this.#path(id), batch.count, (builder) => batch.writeTo(builder));
    this.#add(id, ++this.#age, built);
    batch.clear();
    // The rows that were read are garbage, of which the engine would let hundreds of megabytes accumulate.
    Bun.gc(true);
    for (;;) {
      const count = dueMerge(this.#runs.map(({ bytes }) => bytes));
      if (count === 0) return;
      this.#merge(this.#runs.splice(-count));
    }
  }

  #merge(sources: readonly ConvertedRun[]): void {
    const id = this.#nextId++;
    const job = { chainDir: this.#chainDir, family: this.#family, id, sources, bottom: this.#runs.length === 0 };
    const built = mergeRuns(job, () => this.#progress.step());
    this.#add(id, sources.at(-1)!.age, built);
    for (const source of sources) if (source.image === null) rmSync(this.#path(source.id));
  }

  #add(
    id: number,
    age: number,
    { entries, bytes, image }: { entries: number; bytes: number; image: Uint8Array | null },
  ): void {
    this.#runs.push({ id, family: this.#family, age, entries, bytes, inTable: image !== null, image });
  }

  #path(id: number): string {
    return join(runFolder(this.#chainDir), runFileName(id, this.#family));
  }
}
