import { SQL } from 'bun';
import { targetToHex } from '../consensus/work.ts';
import type { ChainReads } from '../storage/chain-reads.ts';
import { nextLogTag, randomLogTag } from '../storage/event-store.ts';
import { addBalances } from './balance-rows.ts';
import type { BlockBatch } from './block-batch.ts';
import { type MissingTotals, missingTotals, writeTotals } from './chain-totals.ts';
import { copyRows, insertEvents } from './event-rows.ts';
import { KnownEvents } from './known-events.ts';
import { applicationName, LeaderLease, type SinkLease } from './leader-lease.ts';
import type { SinkItem } from './mempool-order.ts';
import { MempoolRetention } from './mempool-retention.ts';
import { removeBlock } from './remove-block.ts';
import { SINK_SCHEMA } from './schema-name.ts';
import {
  BALANCE_PARTS,
  CREATE_LOOKUPS,
  CREATE_TABLES,
  ROW_COLUMNS,
  ROW_TABLES,
  SINK_SCHEMA_VERSION,
  UPGRADE_TABLES,
} from './sink-schema.ts';
import { keepStaleBlock } from './stale-blocks.ts';

/** The last block whose rows the database has. Hashes are in display order, hex. */
export interface SinkPosition {
  /** -1 before the first block. */
  readonly height: number;
  /** Empty before the first block. */
  readonly hash: string;
  readonly chainwork: bigint;
  /** `fill` until the look-up indexes and the balances exist. */
  readonly phase: 'fill' | 'live';
  /** Number of the next event. */
  readonly nextSeq: number;
}

/** A block with its place in the chain. */
export type PlacedBlock = Pick<SinkPosition, 'height' | 'hash' | 'chainwork'>;

/** The database cannot be used as it is, and a retry does not help. The message is for the operator. */
export class SinkRefused extends Error {
  override readonly name = 'SinkRefused';
}

/** A change of the position with its rows, which one transaction commits. */
export interface SinkWrite {
  /** Heights of the blocks that leave the chain are above this one. */
  readonly keepHeight: number;
  /** The height of the last block before the change. */
  readonly fromHeight: number;
  /** The blocks that join the chain; null without any. */
  readonly batch: BlockBatch | null;
  /** Events of the chain, with those of the mempool among them. */
  readonly events: readonly SinkItem[];
  /** Unix seconds. */
  readonly time: number;
  readonly to: PlacedBlock;
}

export interface SinkDatabaseOptions {
  readonly network: string;
  /** Names this process and no other. */
  readonly leader: string;
  /** Number of the newest event numbers whose mempool events are kept; all where it is absent. */
  readonly mempoolEvents?: number;
}

/** Two connections: one for transactions, and one that renews the lease meanwhile. */
const CONNECTIONS = 2;
const CONNECT_SECONDS = 10;
/** A transaction that waits this long for its client is rolled back, so that a dead node holds no lock. */
const IDLE_TRANSACTION_MS = 5000;
/** A statement waits this long for a lock. A new leader then ends the transaction that holds the lock. */
const LOCK_MS = 1500;
const INITIAL_SEQ = 1;
/** Blocks whose balances one transaction sums, if the script hashes are spread evenly over the parts. */
const BLOCKS_OF_SUM = 5000;

/** The database of a sink. Each method throws an error of the driver, SinkRefused or LeaseLost. */
export class SinkDatabase {
  readonly #sql: SQL;
  readonly #network: string;
  readonly #lease: LeaderLease;
  readonly #retention: MempoolRetention;
  readonly #known = new KnownEvents();

  /** `url` is that of a server that speaks PostgreSQL's protocol. */
  constructor(url: string, { network, leader, mempoolEvents = Number.POSITIVE_INFINITY }: SinkDatabaseOptions) {
    this.#network = network;
    this.#retention = new MempoolRetention(mempoolEvents);
    this.#sql = new SQL(url, {
      adapter: 'postgres',
      max: CONNECTIONS,
      connectionTimeout: CONNECT_SECONDS,
      connection: {
        application_name: applicationName(leader),
        idle_in_transaction_session_timeout: String(IDLE_TRANSACTION_MS),
        lock_timeout: String(LOCK_MS),
      },
    });
    this.#lease = new LeaderLease(this.#sql, leader);
  }

  /** Creates the tables where they are missing. Throws SinkRefused for tables of another network or a newer version. */
  async migrate(): Promise<void> {
    for (const statement of CREATE_TABLES) await this.#create(statement);
    const zero = `'\\x${'00'.repeat(32)}'`;
    await this.#sql.unsafe(
      `INSERT INTO ${SINK_SCHEMA}.sink_position (id, version, network, fence, phase, summed, height, hash, chainwork, next_seq)
       VALUES (1, ${SINK_SCHEMA_VERSION}, $1, 0, 'fill', 0, -1, '\\x', ${zero}, ${INITIAL_SEQ}) ON CONFLICT (id) DO NOTHING`,
      [this.#network],
    );
    await this.#sql.unsafe(
      `INSERT INTO ${SINK_SCHEMA}.sink_lease (id, fence, leader, expires) VALUES (1, 0, '', now())
       ON CONFLICT (id) DO NOTHING`,
    );
    await this.#sql.unsafe(
      `INSERT INTO ${SINK_SCHEMA}.mempool_position (id, removed_to) VALUES (1, 0) ON CONFLICT (id) DO NOTHING`,
    );
    const [row] = await this.#sql.unsafe(`SELECT version, network FROM ${SINK_SCHEMA}.sink_position WHERE id = 1`);
    if (row.network !== this.#network)
      throw new SinkRefused(`the database holds the chain of network ${row.network}, not of ${this.#network}`);
    if (row.version > SINK_SCHEMA_VERSION)
      throw new SinkRefused(
        `the database has tables of version ${row.version}, and this program knows ${SINK_SCHEMA_VERSION}: it was made by a newer version`,
      );
    // A change of a table waits for its readers, so it is made once.
    if (row.version < 2) for (const statement of UPGRADE_TABLES) await this.#sql.unsafe(statement);
    await this.#sql.unsafe(`UPDATE ${SINK_SCHEMA}.sink_position SET log_tag = $1 WHERE id = 1 AND log_tag IS NULL`, [
      randomLogTag(),
    ]);
    await this.#sql.unsafe(`UPDATE ${SINK_SCHEMA}.sink_position SET version = $1 WHERE id = 1 AND version < $1`, [
      SINK_SCHEMA_VERSION,
    ]);
  }

  /** Creates what is missing. Two nodes that do so at the same time can see a duplicate of PostgreSQL's own tables. */
  async #create(statement: string): Promise<void> {
    try {
      await this.#sql.unsafe(statement);
    } catch (error) {
      if (!(error instanceof SQL.PostgresError) || error.errno !== '23505') throw error;
      await this.#sql.unsafe(statement);
    }
  }

  /**
   * Adds the totals of the chain to some of the blocks of tables of version 1 from a height on. Throws LeaseLost if another
   * node is the leader.
   */
  async completeTotals(reads: ChainReads, from: number): Promise<Omit<MissingTotals, 'rows'>> {
    // The rows stay as they are while this node is the leader.
    const { rows, ...progress } = await missingTotals(this.#sql, { reads, from });
    if (rows.length > 0)
      await this.#sql.begin(async (tx) => {
        await this.#lease.lockPosition(tx, null);
        await writeTotals(tx, rows);
      });
    return progress;
  }

  /**
   * Becomes the leader for `seconds` if there is no other, or where it is forced in place of another one that is not writing
   * at this moment. The clock is that of the database. Returns null if this node may not write.
   */
  async acquireLease(seconds: number, { isForced = false } = {}): Promise<SinkLease | null> {
    const lease = await this.#lease.acquire(seconds, isForced);
    if (lease !== null) this.#retention.forget();
    return lease;
  }

  /** Extends the lease. Throws LeaseLost if another node has it. */
  renewLease(seconds: number): Promise<void> {
    return this.#lease.renew(seconds);
  }

  /** Ends the lease, so that another node can become the leader at once. */
  releaseLease(): Promise<void> {
    return this.#lease.release();
  }

  async position(): Promise<SinkPosition> {
    const [row] = await this.#sql.unsafe(
      `SELECT height, encode(hash, 'hex') AS hash, encode(chainwork, 'hex') AS chainwork, phase, next_seq, log_tag
       FROM ${SINK_SCHEMA}.sink_position WHERE id = 1`,
    );
    const { height, hash, phase, next_seq: nextSeq, log_tag: tag } = row;
    this.#known.notePosition(tag, Number(nextSeq));
    return { height, hash, chainwork: BigInt(`0x${row.chainwork}`), phase, nextSeq: Number(nextSeq) };
  }

  /**
   * Whether the last position lacked events that this process has seen committed: the server is a replica that lacks the last
   * transactions of the former one, or a restored copy. Their numbers will be given again.
   */
  get lacksEvents(): boolean {
    return this.#known.areLost;
  }

  /** Gives the events another tag, so that the cursors of before are refused. Throws LeaseLost if another node is the leader. */
  async changeTag(): Promise<void> {
    const tag = nextLogTag(this.#known.tag);
    const nextSeq = await this.#sql.begin(async (tx) => {
      const seq = await this.#lease.lockPosition(tx, null);
      await tx.unsafe(`UPDATE ${SINK_SCHEMA}.sink_position SET log_tag = $1 WHERE id = 1`, [tag]);
      return Number(seq);
    });
    this.#known.notePosition(tag, nextSeq);
  }

  /** Returns the blocks from a height downwards, at most `limit`. */
  async blocksDownFrom(height: number, limit: number): Promise<PlacedBlock[]> {
    const rows = await this.#sql.unsafe(
      `SELECT height, encode(hash, 'hex') AS hash, encode(chainwork, 'hex') AS chainwork FROM ${SINK_SCHEMA}.blocks
       WHERE height <= $1 ORDER BY height DESC LIMIT $2`,
      [height, limit],
    );
    return rows.map((row: { height: number; hash: string; chainwork: string }) => ({
      ...{ height: row.height, hash: row.hash },
      chainwork: BigInt(`0x${row.chainwork}`),
    }));
  }

  /** Returns the txids of a block in its order; display order, hex. */
  async txidsAt(height: number): Promise<string[]> {
    const rows = await this.#sql.unsafe(
      `SELECT encode(txid, 'hex') AS txid FROM ${SINK_SCHEMA}.transactions WHERE height = $1 ORDER BY position`,
      [height],
    );
    return rows.map(({ txid }: { txid: string }) => txid);
  }

  /** Commits a change of the position together with its rows. Throws LeaseLost if another node is the leader. */
  async commitChange(write: SinkWrite, phase: SinkPosition['phase']): Promise<void> {
    const { keepHeight, fromHeight, batch, events, to, time } = write;
    const nextSeq = await this.#sql.begin(async (tx) => {
      const seq = await this.#lease.lockPosition(tx, fromHeight);
      const end = seq + BigInt(events.length);
      for (let height = fromHeight; height > keepHeight; height--) {
        await keepStaleBlock(tx, height);
        await removeBlock(tx, height, phase);
      }
      if (batch !== null) {
        for (const table of ROW_TABLES) {
          const columns = ROW_COLUMNS[table].join(', ');
          await copyRows(tx, `COPY ${SINK_SCHEMA}.${table} (${columns}) FROM STDIN`, batch.tables[table]);
        }
        if (phase === 'live') await addBalances(tx, batch.balances);
      }
      await insertEvents(tx, events, { first: seq, time });
      await tx.unsafe(
        `UPDATE ${SINK_SCHEMA}.sink_position SET height = $1, hash = decode($2, 'hex'), chainwork = decode($3, 'hex'),
         next_seq = $4 WHERE id = 1`,
        [to.height, to.hash, targetToHex(to.chainwork), end],
      );
      return end;
    });
    this.#known.noteCommitted(Number(nextSeq));
  }

  /** Commits events of the mempool that follow the block at a height. Throws LeaseLost if another node is the leader. */
  async commitMempoolEvents(
    events: readonly SinkItem[],
    { height, time }: { readonly height: number; readonly time: number },
  ): Promise<void> {
    const nextSeq = await this.#sql.begin(async (tx) => {
      const seq = await this.#lease.lockPosition(tx, height);
      const end = seq + BigInt(events.length);
      await insertEvents(tx, events, { first: seq, time });
      await this.#retention.removeOld(tx, end);
      await tx.unsafe(`UPDATE ${SINK_SCHEMA}.sink_position SET next_seq = $1 WHERE id = 1`, [end]);
      return end;
    });
    this.#known.noteCommitted(Number(nextSeq));
    this.#retention.commit();
  }

  /**
   * Ends the first fill: creates the look-up indexes and sums the balances, and continues where an earlier attempt has
   * ended. Calls `onStep` after each step. Nothing else may write meanwhile.
   */
  async finishFill(onStep: () => void): Promise<void> {
    for (const statement of CREATE_LOOKUPS) {
      await this.#sql.unsafe(statement);
      onStep();
    }
    while (!(await this.#sumBalances())) onStep();
  }

  /** Sums the next part of the balances in one transaction, and returns whether the fill has ended. */
  async #sumBalances(): Promise<boolean> {
    return this.#sql.begin(async (tx) => {
      await this.#lease.lockPosition(tx, null);
      const [row] = await tx.unsafe(`SELECT summed, height FROM ${SINK_SCHEMA}.sink_position WHERE id = 1`);
      const from: number = row.summed;
      const parts = Math.ceil((BALANCE_PARTS * BLOCKS_OF_SUM) / (row.height + 1));
      const to = Math.min(BALANCE_PARTS, from + parts);
      const isLast = to === BALANCE_PARTS;
      await tx.unsafe(
        `INSERT INTO ${SINK_SCHEMA}.balances (script_hash, balance, received, sent, transactions, outputs, inputs)
         SELECT script_hash, sum(received) - sum(sent), sum(received), sum(sent), count(*), sum(outputs), sum(inputs)
         FROM ${SINK_SCHEMA}.address_history WHERE ${partCondition(from, to)} GROUP BY script_hash`,
      );
      await tx.unsafe(`UPDATE ${SINK_SCHEMA}.sink_position SET summed = $1, phase = $2 WHERE id = 1`, [
        to,
        isLast ? 'live' : 'fill',
      ]);
      return isLast;
    });
  }

  async close(): Promise<void> {
    await this.#sql.close({ timeout: 1 });
  }
}

/** Returns the condition for the script hashes whose first byte is at least `from` and below `to`. */
function partCondition(from: number, to: number): string {
  const bound = (byte: number) => `'\\x${byte.toString(16).padStart(2, '0')}'`;
  const above = `script_hash >= ${bound(from)}`;
  return to === BALANCE_PARTS ? above : `${above} AND script_hash < ${bound(to)}`;
}
