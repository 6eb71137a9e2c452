import type { Coin } from '../primitives/coin.ts';
import type { Txid } from '../primitives/hash.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import { MAX_PAIR_SIZE, pairFirst, pairSecond, pairSize, putPair } from './runs/pair-codec.ts';
import type { Run } from './runs/run.ts';
import type { RunBatch } from './runs/run-batch.ts';
import { COINS, type RunFamily } from './runs/run-family.ts';
import { FilterKey } from './runs/run-filter.ts';
import { keyAfterPrefix } from './runs/run-format.ts';
import type { RunLists } from './runs/run-lists.ts';
import { allLiveEntries, liveEntries } from './runs/run-range.ts';

export interface CoinRow {
  position: number;
  value: number;
  script: Uint8Array;
}

const { keySize: KEY_SIZE } = COINS;
const TXID_SIZE = 32;
/** Number of outputs from which one page of each run costs less than the filters, of which one in a hundred is wrong. */
const FILTERED_OUTPUTS = 64;

/** Encodes the key of a coin: the txid in wire order and the index big-endian. Writes to `out` if given. */
export function coinKey({ txid, vout }: Outpoint, out: Uint8Array = new Uint8Array(KEY_SIZE)): Uint8Array {
  out.set(txid);
  out[32] = vout >>> 24;
  out[33] = vout >>> 16;
  out[34] = vout >>> 8;
  out[35] = vout;
  return out;
}

function outpointFromKey(keys: Uint8Array, at: number): Outpoint {
  const key = keys.slice(at, at + KEY_SIZE);
  return { txid: key.subarray(0, TXID_SIZE) as Txid, vout: new DataView(key.buffer).getUint32(TXID_SIZE) };
}

/** Decodes a value: the pair of position and amount, then the script. */
export function coinRow(bytes: Uint8Array, from: number, to: number): CoinRow {
  const scriptAt = from + pairSize(bytes, from);
  return { position: pairFirst(bytes, from), value: pairSecond(bytes, from), script: bytes.slice(scriptAt, to) };
}

function fromRow({ position, value, script }: CoinRow): Coin {
  // Values of stored coins are in MoneyRange, so they fit a double exactly.
  return { position, output: { value: BigInt(value), scriptPubKey: script } };
}

/** Read access to the UTXO set of the active chain. */
export class CoinStore {
  readonly #runs: RunLists;
  readonly family: RunFamily;
  readonly #key = new Uint8Array(KEY_SIZE);
  readonly #filterKey = new FilterKey();

  constructor(runs: RunLists, family: RunFamily = COINS) {
    this.#runs = runs;
    this.family = family;
  }

  get(outpoint: Outpoint): Coin | null {
    const row = this.row(coinKey(outpoint));
    return row && fromRow(row);
  }

  row(key: Uint8Array): CoinRow | null {
    const filterKey = this.#filterKey.load(key, 0);
    for (const run of this.#runs.runsOf(this.family)) {
      if (!run.mayHold(filterKey)) continue;
      const found = run.find(key);
      if (found !== null) return found.removed ? null : coinRow(found.bytes, found.from, found.to);
    }
    return null;
  }

  /** As `row`. Where a page has to be read from the disk, returns 'pending', and the system begins to read it. */
  rowIfCached(key: Uint8Array): CoinRow | 'pending' | null {
    const filterKey = this.#filterKey.load(key, 0);
    for (const run of this.#runs.runsOf(this.family)) {
      if (!run.mayHold(filterKey)) continue;
      const found = run.findIfCached(key);
      if (found === 'pending') return found;
      if (found !== null) return found.removed ? null : coinRow(found.bytes, found.from, found.to);
    }
    return null;
  }

  /** Whether any of the first `outputs` outputs of the transaction is unspent. */
  hasAnyOf(txid: Uint8Array, outputs: number): boolean {
    if (outputs > FILTERED_OUTPUTS) return this.anyOf(txid) !== null;
    for (let vout = 0; vout < outputs; vout++)
      if (this.row(coinKey({ txid: txid as Txid, vout }, this.#key)) !== null) return true;
    return false;
  }

  /** Returns an unspent output of the transaction, the first one; null without any. */
  anyOf(txid: Uint8Array): Coin | null {
    const low = coinKey({ txid: txid as Txid, vout: 0 });
    const high = keyAfterPrefix(txid, KEY_SIZE);
    const runs = this.#runs.runsOf(this.family).filter((run) => run.hasEntries(low, high));
    for (const { bytes, from, to } of liveEntries(runs, low, high)) return fromRow(coinRow(bytes, from, to));
    return null;
  }

  /** Yields all coins by txid in wire order and index, the order in which Core hashes the UTXO set. */
  all(): Generator<PlacedCoin> {
    return coinsOfRuns(this.#runs.runsOf(this.family));
  }
}

/** A coin with its outpoint. */
export type PlacedCoin = Coin & { readonly outpoint: Outpoint };

/** Yields all coins of runs, the youngest first, in the order of `CoinStore.all`. */
export function* coinsOfRuns(runs: readonly Run[]): Generator<PlacedCoin> {
  for (const { keys, keyAt, bytes, from, to } of allLiveEntries(runs))
    yield { outpoint: outpointFromKey(keys, keyAt), ...fromRow(coinRow(bytes, from, to)) };
}

/**
 * Adds a created coin to the batch of a commit. `key` is that of `coinKey`; the script is `bytes` from `from` up to
 * before `to`.
 */
export function batchCoin(
  batch: RunBatch,
  key: Uint8Array,
  position: number,
  value: number,
  bytes: Uint8Array,
  from: number,
  to: number,
): void {
  batch.beginEntry(false, MAX_PAIR_SIZE + to - from);
  putKey(batch, key);
  const { values } = batch;
  let at = putPair(values, batch.valueAt, position, value);
  for (let i = from; i < to; i++) values[at++] = bytes[i]!;
  batch.finishEntry(at);
}

/** Adds the removal of a stored coin to the batch of a commit. */
export function batchRemovedCoin(batch: RunBatch, key: Uint8Array): void {
  batch.beginEntry(true, 0);
  putKey(batch, key);
  batch.finishEntry(batch.valueAt);
}

function putKey({ keys, keyAt }: RunBatch, key: Uint8Array): void {
  for (let i = 0; i < KEY_SIZE; i++) keys[keyAt + i] = key[i]!;
}
