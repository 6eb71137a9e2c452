import { sha256Range } from '../crypto/hash-functions.ts';
import type { TxPosition } from '../primitives/coin.ts';
import { MAX_PAIR_SIZE, putPair } from '../storage/runs/pair-codec.ts';
import type { RunBatch } from '../storage/runs/run-batch.ts';
import { putPosition } from '../storage/runs/run-range.ts';
import { SCRIPT_HASH_SIZE, SCRIPT_KEY_SIZE, type ScriptKeys } from '../storage/script-store.ts';
import { KeyIndex } from '../util/key-index.ts';
import { CoinRows } from './coin-rows.ts';
import { HistoryRows } from './history-rows.ts';

/** Output buffer of the hash of a script, whose first bytes are interned. */
const hashOut = new Uint8Array(32);

/** A state of the collected rows, to which `cutTo` returns. */
export interface RowsMark {
  readonly added: number;
  readonly coins: number;
}

/** An output of a script that is spent or created. */
export interface RowCoin {
  readonly position: TxPosition;
  readonly vout: number;
}

/**
 * The changes of the address index for the next commit: amounts that scripts received and spent in blocks that were
 * connected or disconnected, and the coins that they gained and lost.
 */
export class AddressRows {
  readonly #scripts = new KeyIndex(SCRIPT_HASH_SIZE);
  readonly #added = new HistoryRows();
  readonly #removed = new HistoryRows();
  readonly #coins = new CoinRows();

  /** Number of collected rows, which determines the memory. */
  get size(): number {
    return this.#added.length + this.#removed.length;
  }

  /** The state before the rows of the next connected block, for `cutTo`. */
  get mark(): RowsMark {
    return { added: this.#added.length, coins: this.#coins.length };
  }

  /** Adds an output of the transaction at `position`. */
  receive(script: Uint8Array, position: TxPosition, vout: number, value: number): void {
    this.receiveAt(script, 0, script.length, position, vout, value);
  }

  /** As `receive`, for the script that is `bytes` from `from` up to before `to`. */
  receiveAt(bytes: Uint8Array, from: number, to: number, position: TxPosition, vout: number, value: number): void {
    const local = this.#localAt(bytes, from, to);
    this.#added.add(local, position, value, 0);
    this.#coins.addRow(local, position, vout, value, false);
  }

  /** Adds an input of the transaction at `position`, which spends `coin`. */
  spend(script: Uint8Array, position: TxPosition, coin: RowCoin, value: number): void {
    this.spendAt(script, 0, script.length, position, coin.position, coin.vout, value);
  }

  /** As `spend`, for the script that is `bytes` from `from` up to before `to`. */
  spendAt(
    bytes: Uint8Array,
    from: number,
    to: number,
    position: TxPosition,
    coinPosition: TxPosition,
    vout: number,
    value: number,
  ): void {
    const local = this.#localAt(bytes, from, to);
    this.#added.add(local, position, 0, value);
    this.#coins.addRow(local, coinPosition, vout, value, true);
  }

  /** Drops the rows of blocks that were connected since `mark` and disconnected before a commit. */
  cutTo({ added, coins }: RowsMark): void {
    this.#added.cutTo(added);
    this.#coins.cutTo(coins);
  }

  /** Stages the removal of what a committed block received or spent. */
  unreceive(script: Uint8Array, position: TxPosition, vout: number, value: number): void {
    const local = this.#localAt(script, 0, script.length);
    this.#removed.add(local, position, value, 0);
    this.#coins.addRow(local, position, vout, value, true);
  }

  unspend(script: Uint8Array, position: TxPosition, coin: RowCoin, value: number): void {
    const local = this.#localAt(script, 0, script.length);
    this.#removed.add(local, position, 0, value);
    this.#coins.addRow(local, coin.position, coin.vout, value, false);
  }

  /** Removes all rows. Arrays of usual size are kept, since making them for each commit is slow and doubles the memory. */
  clear(): void {
    this.#scripts.clear();
    this.#added.clear();
    this.#removed.clear();
    this.#coins.cutTo(0);
  }

  /** Adds the rows to the batches of the history and of the coins of scripts. */
  addToBatches(scriptKeys: ScriptKeys, history: RunBatch, coins: RunBatch): void {
    const keys = new Uint8Array(this.#scripts.count * SCRIPT_KEY_SIZE);
    const hash = new Uint8Array(SCRIPT_HASH_SIZE);
    for (let local = 0; local < this.#scripts.count; local++) {
      this.#scripts.copyKey(local, hash, 0);
      scriptKeys.putKey(hash, keys, local * SCRIPT_KEY_SIZE);
    }

    const addHistory = (removed: boolean) => (local: number, position: TxPosition, received: number, sent: number) => {
      history.beginEntry(removed, MAX_PAIR_SIZE);
      const at = putScriptKey(history, keys, local);
      putPosition(history.keys, at, position);
      history.finishEntry(putPair(history.values, history.valueAt, received, sent));
    };
    // Blocks are disconnected before others are connected.
    this.#removed.each(addHistory(true));
    this.#added.each(addHistory(false));

    this.#coins.each((local, position, vout, value, removed) => {
      coins.beginEntry(removed, MAX_PAIR_SIZE);
      const at = putScriptKey(coins, keys, local);
      putPosition(coins.keys, at, position);
      coins.keys[at + 6] = vout >>> 24;
      coins.keys[at + 7] = vout >>> 16;
      coins.keys[at + 8] = vout >>> 8;
      coins.keys[at + 9] = vout;
      coins.finishEntry(putPair(coins.values, coins.valueAt, value, 0));
    });
  }

  /** Returns the number of a script within this commit. Called for every input and output, so it allocates nothing. */
  #localAt(bytes: Uint8Array, from: number, to: number): number {
    return this.#scripts.intern(sha256Range(bytes, from, to, hashOut));
  }
}

/** Begins the key of an entry with that of a script. Returns the offset behind it. */
function putScriptKey(batch: RunBatch, scriptKeys: Uint8Array, local: number): number {
  const { keys, keyAt } = batch;
  for (let i = 0; i < SCRIPT_KEY_SIZE; i++) keys[keyAt + i] = scriptKeys[local * SCRIPT_KEY_SIZE + i]!;
  return keyAt + SCRIPT_KEY_SIZE;
}
