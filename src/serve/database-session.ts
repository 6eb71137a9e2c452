import { SQL } from 'bun';

export interface DatabaseSessionOptions {
  /** URL of the database, which may hold a password. */
  readonly url: string;
  /** Name of the session in the database, at most 63 bytes. */
  readonly name: string;
  /** Time limit of a call, milliseconds. */
  readonly limitMs: number;
}

/**
 * One connection to the database. Each call ends within a time limit, also where the host of the database no longer
 * answers; the next call then opens another connection.
 */
export class DatabaseSession {
  readonly #options: DatabaseSessionOptions;
  #sql: SQL | null = null;

  constructor(options: DatabaseSessionOptions) {
    this.#options = options;
  }

  /** Returns the result of `work`. Rejects with the error of the driver, or at the time limit. */
  async run<T>(work: (sql: SQL) => Promise<T>): Promise<T> {
    const { limitMs } = this.#options;
    this.#sql ??= this.#connect();
    const sql = this.#sql;
    const { promise: limit, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => reject(new Error(`the database has not answered within ${limitMs / 1000} seconds`)),
      limitMs,
    );
    try {
      return await Promise.race([work(sql), limit]);
    } catch (error) {
      // Its statement may still be running, and the end of its host may not be known yet.
      this.close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Closes the connection at once. A later call opens another one. */
  close(): void {
    const sql = this.#sql;
    this.#sql = null;
    void sql?.close({ timeout: 0 }).catch(() => {});
  }

  #connect(): SQL {
    const { url, name, limitMs } = this.#options;
    return new SQL(url, {
      adapter: 'postgres',
      max: 1,
      connectionTimeout: Math.ceil(limitMs / 1000),
      connection: { application_name: name, statement_timeout: String(limitMs) },
    });
  }
}

/** SQLSTATEs of statements on a schema, a table or a column that does not exist. */
const NOT_CREATED: readonly unknown[] = ['3F000', '42P01', '42703'];

/** Whether a statement has failed since the database lacks what it reads or writes. */
export function isNotCreated(error: unknown): boolean {
  return error instanceof SQL.PostgresError && NOT_CREATED.includes(error.errno);
}

/** Returns the reason of a failure for the log and for operators. Messages of the driver name no password. */
export function databaseProblem(error: unknown): string {
  if (isNotCreated(error))
    return 'the database has no tables for keys and limits: a node with sink.postgres and obverse key create --database create them';
  return error instanceof Error ? error.message : String(error);
}
