import type { Database } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { regtest } from '../../../src/params/regtest.ts';
import { hashToHex } from '../../../src/primitives/hash.ts';
import { openWriter } from '../../../src/storage/chain-database.ts';
import { closeDatabase } from '../../../src/storage/database.ts';
import { putPair } from '../../../src/storage/runs/pair-codec.ts';
import { buildRun, type RunBuilder } from '../../../src/storage/runs/run-builder.ts';
import { COINS, HISTORY, type RunFamily, SCRIPT_COINS, TX_INDEX } from '../../../src/storage/runs/run-family.ts';
import { RunManifestWriter, runFileName, runFolder } from '../../../src/storage/runs/run-manifest.ts';
import { putPosition } from '../../../src/storage/runs/run-range.ts';
import { TxWriter } from '../../../src/storage/tx-store.ts';

export const TXS_PER_BLOCK = 2500;
/** Rows of the one script that has many. */
const BUSY_ROWS = 100_000;
/** The sizes of runs in 64ths, the oldest first, as an import leaves them. */
const SHARES = [48, 4, 4, 4, 1, 1, 1, 1];

const SCRIPT_KEY_SIZE = 10;

/** A chain of `txs` transactions with one unspent output each, and as many scripts with three transactions each. */
export class RowsModel {
  readonly txs: number;
  readonly #step: number;
  readonly #inverse: number;

  constructor(txs: number) {
    this.txs = txs;
    this.#step = coprimeAbove(Math.floor(txs * 0.618), txs);
    this.#inverse = inverseOf(this.#step, txs);
  }

  /** Position of the n-th transaction of the chain. */
  positionOf(n: number): number {
    return Math.floor(n / TXS_PER_BLOCK) * 2 ** 20 + (n % TXS_PER_BLOCK);
  }

  /** Returns which transaction of the chain has the txid with this rank. */
  transactionOf(rank: number): number {
    return multiply(rank, this.#step, this.txs);
  }

  /** Returns the rank of a transaction's txid in the order of txids. */
  rankOf(n: number): number {
    return multiply(n, this.#inverse, this.txs);
  }

  /** Writes the txid with a rank; they ascend. */
  putTxid(rank: number, out: Uint8Array, at: number): void {
    putHash(rank, this.txs, out, at, 32);
  }

  scriptKey(script: number): Uint8Array {
    const key = new Uint8Array(SCRIPT_KEY_SIZE);
    this.putScriptKey(script, key);
    return key;
  }

  /** Writes the key of a script; they ascend, and that of the busy script is the last. */
  putScriptKey(script: number, out: Uint8Array): void {
    if (script === this.txs) out.fill(0xff, 0, SCRIPT_KEY_SIZE);
    else putHash(script, this.txs, out, 0, SCRIPT_KEY_SIZE);
  }
}

/** Creates chain.db and its runs in a new folder. */
export function fillDirectory(dir: string, model: RowsModel): void {
  mkdirSync(runFolder(dir), { recursive: true });
  const db = openWriter(join(dir, 'chain.db'), IDENTITY, 64);
  try {
    fillTxs(db, model);
    const runs = new RunFiller(db, dir);
    runs.fill(COINS, model.txs, (builder, from, to) => addCoins(builder, model, from, to));
    runs.fill(TX_INDEX, model.txs, (builder, from, to) => addTxs(builder, model, from, to));
    runs.fill(HISTORY, model.txs * 3 + BUSY_ROWS, (builder, from, to) => addHistory(builder, model, from, to));
    runs.fill(SCRIPT_COINS, model.txs, (builder, from, to) => addScriptCoins(builder, model, from, to));
  } finally {
    closeDatabase(db);
  }
}

export const IDENTITY = { network: regtest.name, genesisHash: hashToHex(regtest.consensus.genesisHash) };

type Filler = (builder: RunBuilder, from: number, to: number) => void;

class RunFiller {
  readonly #db: Database;
  readonly #dir: string;
  readonly #writer: RunManifestWriter;
  #id = 0;

  constructor(db: Database, dir: string) {
    this.#db = db;
    this.#dir = dir;
    this.#writer = new RunManifestWriter(db);
  }

  /** Writes the runs of a family. `add` adds what belongs to the 64ths from one up to before another. */
  fill(family: RunFamily, rows: number, add: Filler): void {
    let from = 0;
    for (const [age, share] of SHARES.entries()) {
      const to = from + share;
      const id = ++this.#id;
      const path = join(runFolder(this.#dir), runFileName(id, family));
      const expected = Math.ceil((rows * share) / 64) + BUSY_ROWS;
      const begin = from;
      const { entries, bytes } = buildRun(family, id, path, expected, (builder) => add(builder, begin, to));
      this.#db.transaction(() => {
        this.#writer.insertRun({ id, family, age: age + 1, entries, bytes }, null);
        this.#writer.setVersion(id);
      })();
      from = to;
    }
  }
}

function fillTxs(db: Database, model: RowsModel): void {
  const writer = new TxWriter(db);
  for (let from = 0; from < model.txs; from += 1_000_000)
    db.transaction(() => {
      for (let n = from; n < Math.min(from + 1_000_000, model.txs); n++) {
        const txid = new Uint8Array(32);
        model.putTxid(model.rankOf(n), txid, 0);
        writer.insertTx(model.positionOf(n), txid, (n % TXS_PER_BLOCK) * 250, (n % TXS_PER_BLOCK) * 40);
      }
      writer.finish();
    })();
}

/** Whether a row with this number belongs to the 64ths from one up to before another. */
const belongs = (number: number, from: number, to: number) => number % 64 >= from && number % 64 < to;

function addCoins(builder: RunBuilder, model: RowsModel, from: number, to: number): void {
  const key = new Uint8Array(COINS.keySize);
  const value = new Uint8Array(64);
  for (let rank = 0; rank < model.txs; rank++) {
    if (!belongs(rank, from, to)) continue;
    model.putTxid(rank, key, 0);
    const scriptAt = putPair(value, 0, model.positionOf(model.transactionOf(rank)), 5000 + (rank % 1_000_000));
    value[scriptAt] = 0;
    value[scriptAt + 1] = 20;
    for (let i = 0; i < 20; i++) value[scriptAt + 2 + i] = key[31 - i]!;
    builder.addEntry(key, 0, false, value, 0, scriptAt + 22);
  }
}

function addTxs(builder: RunBuilder, model: RowsModel, from: number, to: number): void {
  const txid = new Uint8Array(32);
  const key = new Uint8Array(TX_INDEX.keySize);
  for (let rank = 0; rank < model.txs; rank++) {
    if (!belongs(rank, from, to)) continue;
    model.putTxid(rank, txid, 0);
    key.set(txid.subarray(0, 6));
    putPosition(key, 6, model.positionOf(model.transactionOf(rank)));
    builder.addEntry(key, 0, false, key, 0, 0);
  }
}

/** Three rows of each script: in the oldest run for most, in a younger one for others. */
function addHistory(builder: RunBuilder, model: RowsModel, from: number, to: number): void {
  const key = new Uint8Array(HISTORY.keySize);
  const value = new Uint8Array(16);
  const low = Math.floor((model.txs * from) / 64);
  const range = Math.floor((model.txs * (to - from)) / 64);
  const addRow = (n: number) => {
    putPosition(key, SCRIPT_KEY_SIZE, model.positionOf(n));
    builder.addEntry(
      key,
      0,
      false,
      value,
      0,
      putPair(value, 0, n % 2 === 0 ? 5000 + n : 0, n % 2 === 0 ? 0 : 5000 + n),
    );
  };
  for (let script = 0; script < model.txs; script++) {
    if (!belongs(script, from, to)) continue;
    model.putScriptKey(script, key);
    const first = low + (script % Math.max(1, range - 2));
    for (let row = 0; row < 3; row++) addRow(first + row);
  }
  if (from > 0) return;
  model.putScriptKey(model.txs, key);
  const rows = Math.min(BUSY_ROWS, range);
  for (let row = 0; row < rows; row++) addRow(Math.floor((row * range) / rows));
}

function addScriptCoins(builder: RunBuilder, model: RowsModel, from: number, to: number): void {
  const key = new Uint8Array(SCRIPT_COINS.keySize);
  const value = new Uint8Array(16);
  for (let script = 0; script < model.txs; script++) {
    if (!belongs(script, from, to)) continue;
    model.putScriptKey(script, key);
    putPosition(key, SCRIPT_KEY_SIZE, model.positionOf(model.transactionOf(script)));
    builder.addEntry(key, 0, false, value, 0, putPair(value, 0, 5000 + script, 0));
  }
}

/** Writes bytes that ascend with `n` of `count` and look random behind the first six. */
function putHash(n: number, count: number, out: Uint8Array, at: number, size: number): void {
  putPosition(out, at, Math.floor((n / count) * 2 ** 48));
  let state = Math.imul(n ^ (n / 0x1_0000_0000), 0x9e3779b1) | 1;
  for (let i = 6; i < size; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    out[at + i] = state;
  }
}

/** Returns a * b modulo m, for m up to 2^40. */
function multiply(a: number, b: number, m: number): number {
  const high = Math.floor(b / 4096);
  return (((((a * high) % m) * 4096) % m) + a * (b % 4096)) % m;
}

function coprimeAbove(from: number, m: number): number {
  const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));
  let n = Math.max(1, from);
  while (gcd(n, m) !== 1) n++;
  return n;
}

function inverseOf(a: number, m: number): number {
  let [r0, r1] = [m, a % m];
  let [t0, t1] = [0, 1];
  while (r1 !== 0) {
    const q = Math.floor(r0 / r1);
    [r0, r1] = [r1, r0 - q * r1];
    [t0, t1] = [t1, t0 - q * t1];
  }
  return ((t0 % m) + m) % m;
}
