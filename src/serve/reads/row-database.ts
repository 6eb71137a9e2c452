import { SQL } from 'bun';
import { ApiError } from '../../http/errors.ts';
import { isNotCreated } from '../database-session.ts';
import type { Row } from './row-decoder.ts';
import type { Statement } from './statements.ts';

const CONNECT_SECONDS = 5;
/** Time limit of a statement, milliseconds: at the server, and here where no reply comes. */
const STATEMENT_MS = 10_000;
const SILENCE_MS = STATEMENT_MS + 2_000;

/** SQLSTATE of a statement that ran too long. */
const CANCELED = '57014';

/** Connections to the database of a sink that read rows, and how many statements they have run. */
export class RowDatabase {
  readonly #sql: SQL;
  /** Number of statements that were sent. */
  statements = 0;

  /** `url` may hold a password. `connections` is their greatest number; further statements wait for one. */
  constructor(url: string, { name, connections }: { readonly name: string; readonly connections: number }) {
    this.#sql = new SQL(url, {
      adapter: 'postgres',
      max: connections,
      connectionTimeout: CONNECT_SECONDS,
      connection: {
        application_name: name.slice(0, 63),
        statement_timeout: String(STATEMENT_MS),
        default_transaction_read_only: 'on',
        // Compiling a statement would take longer than it runs.
        jit: 'off',
        // A page is read in the order of an index. The planner does not know which scripts have millions of rows, and would
        // read and sort all of them.
        enable_sort: 'off',
        enable_bitmapscan: 'off',
      },
    });
  }

  /** Runs a statement. Rejects with ApiError `warming_up` or `overloaded` where the database cannot answer. */
  async run({ text, values }: Statement): Promise<readonly Row[]> {
    this.statements++;
    const silence = Promise.withResolvers<never>();
    const timer = setTimeout(() => silence.reject(new ApiError('overloaded', SLOW)), SILENCE_MS);
    try {
      return await Promise.race([this.#sql.unsafe(text, [...values]), silence.promise]);
    } catch (error) {
      throw databaseError(error);
    } finally {
      clearTimeout(timer);
    }
  }

  async close(): Promise<void> {
    await this.#sql.close({ timeout: 1 });
  }
}

const SLOW = `the database did not answer within ${STATEMENT_MS / 1000} seconds`;

/** Returns the error to report for one of the driver, whose text may name hosts and settings. */
function databaseError(error: unknown): unknown {
  if (error instanceof ApiError) return error;
  if (!(error instanceof SQL.PostgresError)) return error;
  const { errno, code } = error;
  if (errno === CANCELED) return new ApiError('overloaded', SLOW);
  if (isNotCreated(error))
    return new ApiError('warming_up', 'a node has not yet created the tables of this version in the database');
  // A statement that the server refuses is a fault of the program.
  if (code === 'ERR_POSTGRES_SERVER_ERROR' && /^(?:2|42)/.test(String(errno))) return error;
  return new ApiError('warming_up', 'the database cannot be reached');
}
