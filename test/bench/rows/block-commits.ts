import { join } from 'node:path';
import type { Txid } from '../../../src/primitives/hash.ts';
import { openWriter } from '../../../src/storage/chain-database.ts';
import { batchCoin, batchRemovedCoin, CoinStore, coinKey } from '../../../src/storage/coin-store.ts';
import { closeDatabase } from '../../../src/storage/database.ts';
import { BackgroundMerges } from '../../../src/storage/runs/background-merges.ts';
import { mergeThread } from '../../../src/storage/runs/merge-thread.ts';
import { putPair } from '../../../src/storage/runs/pair-codec.ts';
import { RunBatch } from '../../../src/storage/runs/run-batch.ts';
import { COINS, HISTORY, type RunFamily, SCRIPT_COINS, TX_INDEX } from '../../../src/storage/runs/run-family.ts';
import { putPosition } from '../../../src/storage/runs/run-range.ts';
import { RunStore } from '../../../src/storage/runs/run-store.ts';
import { indexTx, TxWriter } from '../../../src/storage/tx-store.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { IDENTITY, type RowsModel, TXS_PER_BLOCK } from './fill.ts';

const BLOCK_TXS = 5000;
const SCRIPT = new Uint8Array(22);

/** Milliseconds of one block: the look-up of its coins, and its commit. */
export interface BlockTimes {
  readonly lookUps: number;
  readonly commit: number;
}

/**
 * Commits blocks of 5,000 transactions with two inputs and two outputs each; half of the inputs spend coins of the block
 * before, the others coins of any age. Merges run in their own thread meanwhile.
 */
export async function commitBlocks(dir: string, model: RowsModel, blocks: number): Promise<BlockTimes[]> {
  const db = openWriter(join(dir, 'chain.db'), IDENTITY, 64);
  const thread = mergeThread();
  const runs = new RunStore(db, dir, systemClock);
  const log = { debug() {}, info() {}, warn() {}, error: console.error };
  const merges = new BackgroundMerges(runs, (job) => thread.runJob(job), log as never);
  const coins = new CoinStore(runs);
  const txs = new TxWriter(db);
  const times: BlockTimes[] = [];
  let young: Uint8Array[] = [];
  const spent = new Set<number>();
  try {
    for (let block = 0; block < blocks; block++) {
      const height = Math.ceil(model.txs / TXS_PER_BLOCK) + block;
      const batch = new Map([COINS, TX_INDEX, HISTORY, SCRIPT_COINS].map((family) => [family, new RunBatch(family)]));
      const inputs = young.slice(0, BLOCK_TXS);
      while (inputs.length < BLOCK_TXS * 2) inputs.push(oldCoin(model, spent));
      young = [];
      const started = performance.now();
      for (const key of inputs) coins.rowIfCached(key);
      for (const key of inputs) if (coins.row(key) === null) throw new Error(`no coin ${key.toHex()}`);
      const found = performance.now();
      const txids = Array.from({ length: BLOCK_TXS }, () => crypto.getRandomValues(new Uint8Array(32)) as Txid);
      for (const [n, txid] of txids.entries()) {
        const position = height * 2 ** 20 + n;
        indexTx(batch.get(TX_INDEX)!, txid, position, false);
        for (let i = 0; i < 2; i++) {
          batchRemovedCoin(batch.get(COINS)!, inputs[n * 2 + i]!);
          const key = coinKey({ txid, vout: i });
          batchCoin(batch.get(COINS)!, key, position, 5000 + n, SCRIPT, 0, SCRIPT.length);
          young.push(key);
          addRow(batch.get(HISTORY)!, model.scriptKey((n * 2 + i) * 37), position, 5000, 0);
          addRow(batch.get(HISTORY)!, model.scriptKey((n * 2 + i) * 41 + 1), position, 0, 5000);
          addRow(batch.get(SCRIPT_COINS)!, model.scriptKey((n * 2 + i) * 37), position, 5000, 0, i);
        }
      }
      runs.stageBatches([...batch.values()]);
      db.run('BEGIN IMMEDIATE');
      for (const [n, txid] of txids.entries()) txs.insertTx(height * 2 ** 20 + n, txid, n * 250, n * 40);
      txs.finish();
      runs.insertStaged();
      db.run('COMMIT');
      runs.onCommitted();
      times.push({ lookUps: found - started, commit: performance.now() - found });
      merges.schedule();
      await merges.caughtUp();
      await new Promise(setImmediate);
    }
    return times;
  } finally {
    merges.close();
    thread.close();
    runs.close();
    closeDatabase(db);
  }
}

function oldCoin(model: RowsModel, spent: Set<number>): Uint8Array {
  for (;;) {
    const rank = Math.floor(Math.random() * model.txs);
    if (spent.has(rank)) continue;
    spent.add(rank);
    const key = new Uint8Array(COINS.keySize);
    model.putTxid(rank, key, 0);
    return key;
  }
}

function addRow(batch: RunBatch, script: Uint8Array, position: number, first: number, second: number, vout = 0): void {
  const family: RunFamily = batch.family;
  batch.beginEntry(false, 15);
  const { keys, keyAt } = batch;
  keys.set(script, keyAt);
  putPosition(keys, keyAt + script.length, position);
  if (family === SCRIPT_COINS) new DataView(keys.buffer, keys.byteOffset).setUint32(keyAt + 16, vout);
  batch.finishEntry(putPair(batch.values, batch.valueAt, first, second));
}
