import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { isMoneyRange } from '../primitives/amount.ts';
import { txPosition, UNKNOWN_INDEX } from '../primitives/coin.ts';
import { readCompactSize } from '../primitives/compact-size.ts';
import { type CompressedCoin, readCompressedCoin } from '../primitives/compressed-coin.ts';
import type { Txid } from '../primitives/hash.ts';
import { coinKey } from '../storage/coin-store.ts';
import { MAX_PAIR_SIZE, putPair } from '../storage/runs/pair-codec.ts';
import { type BuiltRun, buildRun, type RunBuilder } from '../storage/runs/run-builder.ts';
import { COINS } from '../storage/runs/run-family.ts';
import { runFileName, runFolder } from '../storage/runs/run-manifest.ts';
import { encodeSetElement, type SetHasher, setHasher } from '../storage/utxo-hash.ts';
import { SNAPSHOT_HEADER_SIZE, SnapshotError } from '../storage/utxo-snapshot.ts';
import { ByteReader, ByteWriter, compareBytes, DecodeError } from '../util/bytes.ts';

const BUFFER = 1 << 20;
/** Least bytes of a coin: index, height, amount and script. */
const MIN_COIN_SIZE = 4;
/** More than a coin with its index can take, bytes. */
const MAX_COIN_SIZE = 16_384;
/** More outputs than a transaction can have. */
const MAX_OUTPUTS = 120_000;
const MAX_SCRIPT_SIZE = 10_000;
const MAX_INDEX = 0xffff_ffff;
const CHECK_EVERY = 1024;

/** A file of a UTXO set whose header was checked, and the run that is built of it. */
export interface UtxoLoad {
  readonly path: string;
  readonly coins: number;
  readonly baseHeight: number;
  /** Id of the new run. */
  readonly runId: number;
  readonly chainDir: string;
}

export interface LoadedCoins {
  readonly run: BuiltRun;
  /** The set's hash_serialized_3, wire order. */
  readonly hash: Uint8Array;
  /** Value of all coins, satoshis. */
  readonly value: number;
}

/**
 * Reads the coins of a file and builds a run of them, which is durable and not listed. Throws SnapshotError with Core's
 * message if the file does not follow the format; only the hash shows whether its set is the right one.
 */
export function loadUtxoSet(load: UtxoLoad, checkpoint: () => void): LoadedCoins {
  const { path, chainDir, runId, coins } = load;
  const file = new SnapshotReader(path);
  try {
    const hasher = setHasher('hash_serialized_3')!;
    let value = 0;
    const target = join(runFolder(chainDir), runFileName(runId, COINS));
    // The number comes from the file, and a wrong one must not size the filter.
    const expected = Math.min(coins, Math.ceil(file.size / MIN_COIN_SIZE));
    const run = buildRun(COINS, runId, target, expected, (builder) => {
      value = addCoins(file, load, builder, hasher, checkpoint);
    });
    return { run, hash: hasher.digest(), value };
  } finally {
    file.close();
  }
}

/** Adds all coins to the run. Returns their value. */
function addCoins(
  file: SnapshotReader,
  { coins, baseHeight }: UtxoLoad,
  builder: RunBuilder,
  hasher: SetHasher,
  checkpoint: () => void,
): number {
  const values = new Uint8Array(MAX_PAIR_SIZE + MAX_SCRIPT_SIZE);
  const element = new ByteWriter(MAX_COIN_SIZE);
  const key = new Uint8Array(COINS.keySize);
  let lastTxid: Uint8Array | null = null;
  let total = 0;
  for (let read = 0; read < coins; ) {
    if (read % CHECK_EVERY === 0) checkpoint();
    const { txid, group } = readGroup(file, read, coins, baseHeight);
    if (lastTxid !== null && compareBytes(lastTxid, txid) >= 0) throw badData(read);
    lastTxid = txid;
    for (const [i, { vout, coin }] of group.entries()) {
      if (i > 0 && group[i - 1]!.vout === vout) throw badData(read);
      const { height, coinbase, value, script } = coin;
      const position = txPosition(height, coinbase ? 0 : UNKNOWN_INDEX);
      const outpoint = { txid, vout };
      element.reset();
      encodeSetElement(element, { outpoint, position, output: { value, scriptPubKey: script } });
      hasher.add(element.finish());
      const scriptAt = putPair(values, 0, position, Number(value));
      values.set(script, scriptAt);
      builder.addEntry(coinKey(outpoint, key), 0, false, values, 0, scriptAt + script.length);
      total += Number(value);
    }
    const before = read;
    read += group.length;
    if (Math.floor(read / CHECK_EVERY) > Math.floor(before / CHECK_EVERY)) checkpoint();
  }
  if (!file.atEnd) throw new SnapshotError(`Bad snapshot - coins left over after deserializing ${coins} coins`);
  return total;
}

interface Group {
  readonly txid: Txid;
  /** In the order of their indexes. */
  readonly group: { readonly vout: number; readonly coin: CompressedCoin }[];
}

/** Reads the coins of one transaction; `read` were read before. */
function readGroup(file: SnapshotReader, read: number, coins: number, baseHeight: number): Group {
  try {
    const head = file.reader();
    const txid = head.bytes(32).slice() as Txid;
    const count = readCompactSize(head);
    if (count > coins - read)
      throw new SnapshotError('Mismatch in coins count in snapshot metadata and actual snapshot data');
    if (count > MAX_OUTPUTS) throw badData(read);
    const group: Group['group'] = [];
    for (let n = 0; n < count; n++) {
      const r = file.reader();
      const vout = readCompactSize(r);
      const coin = readCompressedCoin(r);
      if (coin.height > baseHeight || vout >= MAX_INDEX) throw badData(read + n);
      if (!isMoneyRange(coin.value))
        throw new SnapshotError(`Bad snapshot data after deserializing ${read + n} coins - bad tx out value`);
      group.push({ vout, coin: { ...coin, script: coin.script.slice() } });
    }
    return { txid, group: group.sort((a, b) => a.vout - b.vout) };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new SnapshotError(`Bad snapshot format or truncated snapshot after deserializing ${read} coins`);
  }
}

function badData(read: number): SnapshotError {
  return new SnapshotError(`Bad snapshot data after deserializing ${read} coins`);
}

/** Reads the file behind its header through a buffer. */
class SnapshotReader {
  /** Bytes of the file. */
  readonly size: number;
  readonly #fd: number;
  readonly #buffer = new Uint8Array(BUFFER);
  #reader = new ByteReader(this.#buffer, 0, 0);
  #at = SNAPSHOT_HEADER_SIZE;
  #ended = false;

  constructor(path: string) {
    this.#fd = openSync(path, 'r');
    this.size = fstatSync(this.#fd).size;
  }

  /** Returns a reader with at least as many bytes as a coin can take, or with all that remain. */
  reader(): ByteReader {
    if (this.#reader.remaining >= MAX_COIN_SIZE || this.#ended) return this.#reader;
    const { pos, end } = this.#reader;
    this.#buffer.copyWithin(0, pos, end);
    let filled = end - pos;
    while (filled < BUFFER) {
      const got = readSync(this.#fd, this.#buffer, filled, BUFFER - filled, this.#at);
      if (got === 0) {
        this.#ended = true;
        break;
      }
      this.#at += got;
      filled += got;
    }
    this.#reader = new ByteReader(this.#buffer, 0, filled);
    return this.#reader;
  }

  get atEnd(): boolean {
    return this.reader().remaining === 0;
  }

  close(): void {
    closeSync(this.#fd);
  }
}
