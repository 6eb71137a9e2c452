import { SQL, type TransactionSQL } from 'bun';
import { SINK_SCHEMA } from './schema-name.ts';

/** The right to write. */
export interface SinkLease {
  /** Whether no other process has had it since this one had it last. */
  readonly isContinued: boolean;
}

/** Another node has become the leader, or may become it at any moment; nothing was written. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';

  constructor() {
    super('another node has become the leader of the sink');
  }
}

/**
 * The lease of a sink, which one node has at a time. Each transaction that writes verifies the number of the lease and the
 * name of the leader: after a failover to a replica that lacks the newest leases, their numbers are given again. Each method
 * throws an error of the driver or LeaseLost.
 */
export class LeaderLease {
  readonly #sql: SQL;
  readonly #leader: string;
  #fence = 0n;
  /** Whether no other process has had the lease since `acquire` has returned one. */
  #isContinued = false;

  /** `leader` names this process and no other. */
  constructor(sql: SQL, leader: string) {
    this.#sql = sql;
    this.#leader = leader;
  }

  /** As `SinkDatabase.acquireLease`. */
  async acquire(seconds: number, isForced: boolean): Promise<SinkLease | null> {
    const [before] = await this.#sql.unsafe(
      `SELECT leader, fence FROM ${SINK_SCHEMA}.sink_lease WHERE id = 1 AND (expires < now() OR leader = $1 OR $2)`,
      [this.#leader, isForced],
    );
    if (before === undefined) return null;
    // A long transaction would begin again at each change of the leader.
    if (isForced && (await this.#isWriting())) return null;
    if (before.leader !== this.#leader) this.#isContinued = false;
    const [row] = await this.#sql.unsafe(
      `UPDATE ${SINK_SCHEMA}.sink_lease SET fence = fence + 1, leader = $1, expires = now() + $2 * INTERVAL '1 second'
       WHERE id = 1 AND (expires < now() OR leader = $1 OR $4) AND fence = $3 RETURNING fence`,
      [this.#leader, seconds, before.fence, isForced],
    );
    if (row === undefined) return null;
    const fence = BigInt(row.fence);
    // A transaction of the former leader that is still running ends first; a later one finds the new number.
    const move = () =>
      this.#sql.unsafe(`UPDATE ${SINK_SCHEMA}.sink_position SET fence = $1 WHERE id = 1 AND fence < $1`, [fence]);
    const moved = await move().catch(async (error: unknown) => {
      if (!isLockTimeout(error)) throw error;
      await this.#endSessions(before.leader);
      return move();
    });
    if (moved.count !== 1) return null;
    this.#fence = fence;
    const isContinued = this.#isContinued;
    this.#isContinued = true;
    return { isContinued };
  }

  /** Extends the lease. Throws LeaseLost if another node has it. */
  async renew(seconds: number): Promise<void> {
    const renewed = await this.#sql.unsafe(
      `UPDATE ${SINK_SCHEMA}.sink_lease SET expires = now() + $3 * INTERVAL '1 second'
       WHERE id = 1 AND fence = $1 AND leader = $2`,
      [this.#fence, this.#leader, seconds],
    );
    if (renewed.count !== 1) throw new LeaseLost();
  }

  /** Ends the lease, so that another node can become the leader at once. */
  async release(): Promise<void> {
    await this.#sql.unsafe(
      `UPDATE ${SINK_SCHEMA}.sink_lease SET expires = now() WHERE id = 1 AND fence = $1 AND leader = $2`,
      [this.#fence, this.#leader],
    );
  }

  /**
   * Locks the position, and returns the number of the next event. `fromHeight`: the height that the database must have; null
   * for any. Throws LeaseLost if another node is the leader.
   */
  async lockPosition(tx: TransactionSQL, fromHeight: number | null): Promise<bigint> {
    const [row] = await tx.unsafe(
      `SELECT height, next_seq FROM ${SINK_SCHEMA}.sink_position WHERE id = 1 AND fence = $1
       AND EXISTS (SELECT 1 FROM ${SINK_SCHEMA}.sink_lease WHERE id = 1 AND leader = $2) FOR UPDATE`,
      [this.#fence, this.#leader],
    );
    if (row === undefined || (fromHeight !== null && row.height !== fromHeight)) throw new LeaseLost();
    return BigInt(row.next_seq);
  }

  /** Whether a transaction holds the position. */
  async #isWriting(): Promise<boolean> {
    try {
      await this.#sql.begin((tx) =>
        tx.unsafe(`SELECT 1 FROM ${SINK_SCHEMA}.sink_position WHERE id = 1 FOR UPDATE NOWAIT`),
      );
      return false;
    } catch (error) {
      if (isLockTimeout(error)) return true;
      throw error;
    }
  }

  /** Ends the sessions of a leader that no longer answers, in the middle of a transaction. CockroachDB has no such function. */
  async #endSessions(leader: string): Promise<void> {
    await this.#sql
      .unsafe(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND pid <> pg_backend_pid()',
        [applicationName(leader)],
      )
      .catch(() => {});
  }
}

/** The name of a session of a leader, of which the server keeps 63 bytes. */
export function applicationName(leader: string): string {
  return `obverse ${leader}`.slice(0, 63);
}

/** Whether a statement has waited too long for a lock (SQLSTATE 55P03). */
function isLockTimeout(error: unknown): boolean {
  return error instanceof SQL.PostgresError && error.errno === '55P03';
}
