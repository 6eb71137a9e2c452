import type { Database } from 'bun:sqlite';
import { decodeMuHash, EMPTY_MUHASH, encodeMuHash, type MuHashValue } from '../crypto/muhash.ts';
import { ByteReader, ByteWriter } from '../util/bytes.ts';

/** Amounts that a block has moved, satoshis. Values can move many times within a block, so sums need all 64 bits. */
export interface BlockAmounts {
  /** Value of the outputs that it spent. */
  readonly prevoutSpent: bigint;
  /** Value of the spendable outputs of its coinbase, and of its other transactions. */
  readonly coinbase: bigint;
  readonly newOutputs: bigint;
  /** Subsidy of the genesis block, whose output never was a coin. */
  readonly genesis: bigint;
  /** Subsidy of a coinbase that a later one overwrites (BIP-30). */
  readonly bip30: bigint;
  /** Value of outputs that no script can spend. */
  readonly scripts: bigint;
  /** Part of subsidy and fees that the coinbase did not claim. */
  readonly unclaimed: bigint;
}

/** Statistics of the UTXO set at a block, as Core's coinstatsindex has them. Amounts in satoshis. */
export interface CoinStats extends BlockAmounts {
  /** MuHash3072 of the set, wire order. */
  readonly muhash: Uint8Array;
  readonly txouts: number;
  readonly bogosize: number;
  readonly totalAmount: bigint;
  /** Sum of the amounts that no coin holds any more, up to this block. */
  readonly totalUnspendable: bigint;
}

const HASH_SIZE = 32;

function encodeCoinStats(stats: CoinStats): Uint8Array {
  const w = new ByteWriter(HASH_SIZE + 11 * 8);
  w.bytes(stats.muhash);
  w.u64(BigInt(stats.txouts));
  w.u64(BigInt(stats.bogosize));
  w.u64(stats.totalAmount);
  w.u64(stats.totalUnspendable);
  w.u64(stats.prevoutSpent);
  w.u64(stats.coinbase);
  w.u64(stats.newOutputs);
  w.u64(stats.genesis);
  w.u64(stats.bip30);
  w.u64(stats.scripts);
  w.u64(stats.unclaimed);
  return w.finish();
}

function decodeCoinStats(bytes: Uint8Array): CoinStats {
  const r = new ByteReader(bytes);
  return {
    muhash: r.bytes(HASH_SIZE),
    txouts: Number(r.u64()),
    bogosize: Number(r.u64()),
    totalAmount: r.u64(),
    totalUnspendable: r.u64(),
    prevoutSpent: r.u64(),
    coinbase: r.u64(),
    newOutputs: r.u64(),
    genesis: r.u64(),
    bip30: r.u64(),
    scripts: r.u64(),
    unclaimed: r.u64(),
  };
}

/** Read access to the statistics of the UTXO set by the id of the block header. */
export class CoinStatsStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Returns the statistics at a block; null if the index has not covered it. */
  get(headerId: number): CoinStats | null {
    // Prepared when it is first used, since an older database lacks the tables until a writer opens it.
    const row = this.#db
      .query<{ stats: Uint8Array }, [number]>('SELECT stats FROM coin_stats WHERE header_id = ?')
      .get(headerId);
    return row && decodeCoinStats(row.stats);
  }

  /** Returns the value of the MuHash at the last covered block. */
  value(): MuHashValue {
    const row = this.#db.query<{ muhash: Uint8Array }, []>('SELECT muhash FROM coin_stats_value').get();
    return row === null ? EMPTY_MUHASH : decodeMuHash(row.muhash);
  }
}

/** Write access for the single writer, within its transaction. */
export class CoinStatsWriter {
  readonly #put;
  readonly #putValue;
  readonly #removeValue;
  readonly #removeRows;

  constructor(db: Database) {
    this.#put = db.prepare<null, [number, Uint8Array]>(
      'INSERT OR REPLACE INTO coin_stats (header_id, stats) VALUES (?, ?)',
    );
    this.#putValue = db.prepare<null, [Uint8Array]>(
      'INSERT OR REPLACE INTO coin_stats_value (id, muhash) VALUES (1, ?)',
    );
    this.#removeValue = db.prepare<null, []>('DELETE FROM coin_stats_value');
    this.#removeRows = db.prepare<null, []>('DELETE FROM coin_stats');
  }

  insert(headerId: number, stats: CoinStats): void {
    this.#put.run(headerId, encodeCoinStats(stats));
  }

  /** Stores the value of the MuHash at the last covered block. */
  putValue(value: MuHashValue): void {
    this.#putValue.run(encodeMuHash(value));
  }

  removeAll(): void {
    this.#removeRows.run();
    this.#removeValue.run();
  }
}
