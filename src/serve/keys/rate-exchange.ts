import { randomBytes } from 'node:crypto';
import type { SQL } from 'bun';
import { SINK_SCHEMA } from '../../sink/schema-name.ts';
import { abortable, sleep } from '../../util/abort.ts';
import type { Clock } from '../../util/clock.ts';
import type { Log } from '../../util/log.ts';
import { DatabaseSession, databaseProblem } from '../database-session.ts';
import { ExchangedRates, MAX_CHARGE_AGE_MS } from './exchanged-rates.ts';

/** Pause between two exchanges, milliseconds. Consumption is known to all servers after two of them. */
const EXCHANGE_MS = 500;
const LIMIT_MS = 3000;
/** Batches that one exchange reads; the rest waits for the next. */
const READ_BATCHES = 1000;
/** Age at which a batch is deleted, seconds. */
const KEPT_SECONDS = 60;
/** Pause between two deletions, milliseconds. */
const DELETE_MS = 10_000;
const SERVER_BYTES = 8;

export interface RateExchangeOptions {
  /** URL of the database, which may hold a password. */
  readonly url: string;
  /** Name of the session in the database. */
  readonly name: string;
  readonly log: Log;
  readonly clock: Clock;
  readonly authFailuresPerMinute: number;
}

export interface RateExchangeStatus {
  /** The reason why consumption is not exchanged; null while it is. */
  readonly problem: string | null;
  /** Charges and failures that other servers will not know. */
  readonly unshared: number;
}

/** Exchanges the consumption of rate limits with the other servers of the database. */
export class RateExchange {
  readonly rates: ExchangedRates;
  readonly #options: RateExchangeOptions;
  readonly #session: DatabaseSession;
  /** Names this process and no other. */
  readonly #server = randomBytes(SERVER_BYTES).toHex();
  #deletedAt: number;
  #problem: string | null = null;

  constructor(options: RateExchangeOptions) {
    const { url, name, clock, authFailuresPerMinute } = options;
    this.#options = options;
    this.#session = new DatabaseSession({ url, name, limitMs: LIMIT_MS });
    this.rates = new ExchangedRates(authFailuresPerMinute, clock);
    this.#deletedAt = clock.monotonicMs();
  }

  get status(): RateExchangeStatus {
    return { problem: this.#problem, unshared: this.rates.unshared };
  }

  /** Exchanges until the signal aborts. While the database cannot be used, each server limits by itself. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#follow(signal).catch(() => {});
    this.#session.close();
  }

  /** Rejects when the signal aborts. */
  async #follow(signal: AbortSignal): Promise<never> {
    const { log } = this.#options;
    for (;;) {
      try {
        await abortable(this.#exchange(), signal);
        if (this.#problem !== null) log.info('rate limits are shared with other servers again');
        this.#problem = null;
      } catch (error) {
        signal.throwIfAborted();
        const problem = databaseProblem(error);
        if (this.#problem === null)
          log.warn('rate limits are not shared with other servers: the database cannot be used', { problem });
        this.#problem = problem;
      }
      await sleep(EXCHANGE_MS, signal);
    }
  }

  async #exchange(): Promise<void> {
    const { clock } = this.#options;
    await this.#session.run(async (sql) => {
      await this.#send(sql);
      await this.#receive(sql);
      if (clock.monotonicMs() - this.#deletedAt < DELETE_MS) return;
      this.#deletedAt = clock.monotonicMs();
      await sql.unsafe(`DELETE FROM ${SINK_SCHEMA}.rate_batches WHERE at < now() - INTERVAL '${KEPT_SECONDS} seconds'`);
    });
  }

  async #send(sql: SQL): Promise<void> {
    const batch = this.rates.nextBatch();
    if (batch === null) return;
    // A batch whose acknowledgement was lost is there already.
    await sql.unsafe(
      `INSERT INTO ${SINK_SCHEMA}.rate_batches (server, batch, at, charges) VALUES ($1, $2, now(), $3)
       ON CONFLICT (server, batch) DO NOTHING`,
      [this.#server, batch.number, batch.charges],
    );
    this.rates.acknowledge(batch.number);
  }

  async #receive(sql: SQL): Promise<void> {
    const seen = this.rates.seen();
    const rows: readonly { server: string; batch: string | number; charges: string }[] = await sql.unsafe(
      `SELECT b.server, b.batch, b.charges FROM ${SINK_SCHEMA}.rate_batches AS b
       LEFT JOIN unnest($2::TEXT[], $3::BIGINT[]) AS k (server, batch) ON k.server = b.server
       WHERE b.server <> $1 AND b.at > now() - INTERVAL '${MAX_CHARGE_AGE_MS / 1000} seconds'
         AND (k.batch IS NULL OR b.batch > k.batch)
       ORDER BY b.at, b.batch LIMIT ${READ_BATCHES}`,
      [
        this.#server,
        `{${seen.map(({ server }) => server).join(',')}}`,
        `{${seen.map(({ number }) => number).join(',')}}`,
      ],
    );
    for (const { server, batch, charges } of rows) this.rates.apply({ server, number: Number(batch), charges });
  }
}
