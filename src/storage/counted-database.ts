import { Database, type SQLQueryBindings, type Statement } from 'bun:sqlite';
import { addLockFailures, type CountedDatabaseName } from '../util/lock-failures.ts';

type Run = (...args: never[]) => unknown;

/** Errors that are counted: one of a statement also leaves the transaction around it. */
const counted = new WeakSet<object>();
const METHODS = ['run', 'get', 'all', 'values'] as const;

/**
 * A connection that writes. It counts the statements that fail because another connection holds the lock of the database
 * (SQLITE_BUSY). SQLite waits for the busy timeout before; bun:sqlite cannot observe shorter waits.
 */
export class CountedDatabase extends Database {
  readonly #name: CountedDatabaseName;
  readonly #watched = new WeakSet<object>();

  constructor(path: string, name: CountedDatabaseName, options: { readwrite: true; create?: boolean }) {
    super(path, options);
    this.#name = name;
  }

  override run(...args: Parameters<Database['run']>): ReturnType<Database['run']> {
    try {
      return super.run(...args);
    } catch (error) {
      throw this.#count(error);
    }
  }

  override query<R, P extends SQLQueryBindings | SQLQueryBindings[]>(sql: string) {
    return this.#watch(super.query<R, P>(sql));
  }

  override prepare<R, P extends SQLQueryBindings | SQLQueryBindings[]>(sql: string, params?: P) {
    return this.#watch(super.prepare<R, P>(sql, params));
  }

  override transaction<A extends unknown[], T>(work: (...args: A) => T) {
    const made = super.transaction(work);
    return Object.assign(this.#watchedCall(made), {
      deferred: this.#watchedCall(made.deferred),
      immediate: this.#watchedCall(made.immediate),
      exclusive: this.#watchedCall(made.exclusive),
    });
  }

  /** Statements of `query` are kept, and returned again. */
  #watch<S extends Statement<unknown, never[]> | object>(statement: S): S {
    if (this.#watched.has(statement)) return statement;
    this.#watched.add(statement);
    const methods = statement as Record<(typeof METHODS)[number], Run>;
    for (const name of METHODS) methods[name] = this.#watchedCall(methods[name].bind(statement));
    return statement;
  }

  #watchedCall<F extends Run>(run: F): F {
    const watched = (...args: Parameters<F>) => {
      try {
        return run(...args);
      } catch (error) {
        throw this.#count(error);
      }
    };
    return watched as F;
  }

  #count(error: unknown): unknown {
    if (error instanceof Error && isBusy(error) && !counted.has(error)) {
      counted.add(error);
      addLockFailures({ [this.#name]: 1 });
    }
    return error;
  }
}

/** Whether another connection holds the lock. Also for the extended codes, such as SQLITE_BUSY_SNAPSHOT. */
export function isBusy(error: unknown): boolean {
  const code = error instanceof Error && (error as Error & { readonly code?: unknown }).code;
  return typeof code === 'string' && code.startsWith('SQLITE_BUSY');
}
