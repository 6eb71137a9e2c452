import { sha256 } from '../crypto/hash-functions.ts';
import { positionHeight, positionIndex, type TxPosition, txPosition } from '../primitives/coin.ts';
import { pairFirst, pairSecond } from './runs/pair-codec.ts';
import { HISTORY, SCRIPT_COINS } from './runs/run-family.ts';
import { keyAfterPrefix } from './runs/run-format.ts';
import type { RunLists } from './runs/run-lists.ts';
import { liveEntries, positionOf, putPosition, sumEntries } from './runs/run-range.ts';

export const SCRIPT_HASH_SIZE = 20;
export const SCRIPT_KEY_SIZE = 10;
export const SCRIPT_SALT_SIZE = 16;
/** The largest position that six bytes hold. */
const MAX_POSITION = 2 ** 48 - 1;
const MAX_VOUT = 2 ** 32 - 1;

/** Returns the hash of a script that the address index is built on: the first 20 bytes of its SHA-256. */
function scriptHash(script: Uint8Array): Uint8Array {
  return sha256(script).subarray(0, SCRIPT_HASH_SIZE);
}

/**
 * Key of a script in the address index: the first 10 bytes of SHA-256(salt, hash of the script). The salt is secret and
 * each database has its own, so that no client can construct two scripts with one key.
 */
export type ScriptKey = Uint8Array & { readonly __brand: 'ScriptKey' };

/** Computes keys of scripts. */
export class ScriptKeys {
  readonly #input = new Uint8Array(SCRIPT_SALT_SIZE + SCRIPT_HASH_SIZE);
  readonly #digest = new Uint8Array(32);

  constructor(salt: Uint8Array) {
    this.#input.set(salt);
  }

  keyOf(script: Uint8Array): ScriptKey {
    const key = new Uint8Array(SCRIPT_KEY_SIZE);
    this.putKey(scriptHash(script), key, 0);
    return key as ScriptKey;
  }

  /** Writes the key of a script with this hash to `out` at `at`. */
  putKey(hash: Uint8Array, out: Uint8Array, at: number): void {
    for (let i = 0; i < SCRIPT_HASH_SIZE; i++) this.#input[SCRIPT_SALT_SIZE + i] = hash[i]!;
    sha256(this.#input, this.#digest);
    for (let i = 0; i < SCRIPT_KEY_SIZE; i++) out[at + i] = this.#digest[i]!;
  }
}

/** Confirmed totals of a script in the active chain, satoshis. Lifetime sums may exceed 2^53. */
export interface ScriptTotals {
  readonly key: ScriptKey;
  readonly received: bigint;
  readonly sent: bigint;
  readonly txs: number;
  readonly utxos: number;
  /** Heights of the first and the last transaction. */
  readonly firstHeight: number;
  readonly lastHeight: number;
}

/** A transaction that pays to a script or spends from it; both amounts in satoshis. */
export interface HistoryRecord {
  readonly position: TxPosition;
  readonly received: number;
  readonly sent: number;
}

/** An unspent output of a script. */
export interface ScriptCoin {
  readonly position: TxPosition;
  readonly vout: number;
  readonly value: number;
}

/** Read access to the address index. */
export class ScriptStore {
  readonly #runs: RunLists;
  readonly #salt: () => Uint8Array;
  #keys: ScriptKeys | null = null;

  /** `salt` returns the salt of the database; it is called at the first use. */
  constructor(runs: RunLists, salt: () => Uint8Array) {
    this.#runs = runs;
    this.#salt = salt;
  }

  keyOf(script: Uint8Array): ScriptKey {
    this.#keys ??= new ScriptKeys(this.#salt());
    return this.#keys.keyOf(script);
  }

  /** Returns the totals of a script; null if it never occurred. */
  totals(script: Uint8Array): ScriptTotals | null {
    const key = this.keyOf(script);
    const low = (size: number) => padded(key, size);
    const history = sumEntries(this.#runs.runsOf(HISTORY), low(HISTORY.keySize), keyAfterPrefix(key, HISTORY.keySize));
    if (history.count === 0) return null;
    const coins = sumEntries(
      this.#runs.runsOf(SCRIPT_COINS),
      low(SCRIPT_COINS.keySize),
      keyAfterPrefix(key, SCRIPT_COINS.keySize),
    );
    const { first: received, second: sent, count: txs, firstKey, lastKey } = history;
    return {
      key,
      received,
      sent,
      txs,
      utxos: coins.count,
      firstHeight: heightOf(firstKey!),
      lastHeight: heightOf(lastKey!),
    };
  }

  /** Returns transactions strictly between two positions, newest or oldest first. */
  history(
    key: ScriptKey,
    { above, below, order, limit }: { above: TxPosition; below: TxPosition; order: 'asc' | 'desc'; limit: number },
  ): HistoryRecord[] {
    const records: HistoryRecord[] = [];
    if (limit <= 0) return records;
    const low = historyKey(key, above + 1);
    const high = historyKey(key, below);
    for (const { keys, keyAt, bytes, from } of liveEntries(this.#runs.runsOf(HISTORY), low, high, order)) {
      const position = positionOf(keys, keyAt + SCRIPT_KEY_SIZE);
      records.push({ position, received: pairFirst(bytes, from), sent: pairSecond(bytes, from) });
      if (records.length === limit) break;
    }
    return records;
  }

  /** Returns unspent outputs after (position, vout), in chain order. (-1, 0) starts at the first. */
  coins(key: ScriptKey, after: { position: TxPosition; vout: number }, limit: number): ScriptCoin[] {
    const coins: ScriptCoin[] = [];
    if (limit <= 0) return coins;
    const { position, vout } = after.vout < MAX_VOUT ? after : { position: after.position + 1, vout: -1 };
    for (const coin of this.#coinsFrom(key, position, vout + 1)) {
      coins.push(coin);
      if (coins.length === limit) break;
    }
    return coins;
  }

  /** Returns the sum of unspent coinbase outputs of blocks from a height on, satoshis. */
  coinbaseValueFrom(key: ScriptKey, height: number): number {
    const low = coinKeyFrom(key, txPosition(Math.max(height, 0), 0), 0);
    const high = keyAfterPrefix(key, SCRIPT_COINS.keySize);
    let sum = 0;
    // Removals cancel additions, so that no merging is needed. A coinbase is the first transaction of its block.
    for (const run of this.#runs.runsOf(SCRIPT_COINS))
      run.visitRange(low, high, (entryKey, removed, page, valueAt) => {
        if (positionIndex(positionOf(entryKey, SCRIPT_KEY_SIZE)) !== 0) return true;
        const value = pairFirst(page, valueAt);
        sum += removed ? -value : value;
        return true;
      });
    return sum;
  }

  *#coinsFrom(key: ScriptKey, position: TxPosition, vout: number): Generator<ScriptCoin> {
    const low = coinKeyFrom(key, position, vout);
    const high = keyAfterPrefix(key, SCRIPT_COINS.keySize);
    for (const entry of liveEntries(this.#runs.runsOf(SCRIPT_COINS), low, high)) {
      const { keys, keyAt, bytes, from } = entry;
      const at = keyAt + SCRIPT_KEY_SIZE;
      yield {
        position: positionOf(keys, at),
        vout: ((keys[at + 6]! << 24) | (keys[at + 7]! << 16) | (keys[at + 8]! << 8) | keys[at + 9]!) >>> 0,
        value: pairFirst(bytes, from),
      };
    }
  }
}

function padded(key: ScriptKey, size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  bytes.set(key);
  return bytes;
}

/**
 * Returns the least key of the coins of a script from (position, output index) on. A negative position stands for all
 * coins.
 */
function coinKeyFrom(key: ScriptKey, position: TxPosition, vout: number): Uint8Array {
  const low = padded(key, SCRIPT_COINS.keySize);
  if (position < 0) return low;
  putPosition(low, SCRIPT_KEY_SIZE, Math.min(position, MAX_POSITION));
  new DataView(low.buffer).setUint32(SCRIPT_KEY_SIZE + 6, vout);
  return low;
}

function heightOf(key: Uint8Array): number {
  return positionHeight(positionOf(key, SCRIPT_KEY_SIZE));
}

function historyKey(key: ScriptKey, position: TxPosition): Uint8Array {
  const bytes = padded(key, HISTORY.keySize);
  putPosition(bytes, SCRIPT_KEY_SIZE, Math.min(Math.max(position, 0), MAX_POSITION));
  return bytes;
}
