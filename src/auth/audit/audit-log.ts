import { ApiError, fail } from '../../http/errors.ts';
import type { Log } from '../../util/log.ts';
import { startWorker } from '../../util/worker.ts';
import { WorkerPort } from '../../util/worker-port.ts';
import { BoundedMap } from '../rate-limits.ts';
import type { AuditAnswer, AuditDatabase, AuditRequest } from './audit-messages.ts';
import type { AuditCall, AuditEntry, AuditFilter, AuditRow } from './audit-store.ts';
import { OUTCOME_STARTED } from './audit-store.ts';

export interface AuditLogOptions {
  /** Number of rows that are kept. */
  readonly keep: number;
  readonly log: Log;
  readonly metrics: { auditFailure(): void; auditLost(rows: number): void };
}

/** The recorded result of a call. */
export interface AuditOutcome {
  /** `ok`, or an error code. */
  readonly outcome: string;
  readonly keyId: string | null;
  readonly txid: string | null;
}

/** The audit log, as calls use it. */
export type AuditTrail = Pick<AuditLog, 'begin' | 'complete' | 'record' | 'recordRefused' | 'page'>;

interface Queued {
  readonly row: AuditRow;
  /** Set where a call waits for its row; all other rows are written when there is time. */
  readonly waiting: PromiseWithResolvers<number> | null;
}

const ROWS_AT_ONCE = 1000;
/** Collection time of rows that no call waits for, so that many share one commit. */
const COLLECT_MS = 100;
const RETRY_MS = 1000;
/** Limit of rows that no call waits for, while rows cannot be written. */
const MAX_QUEUED = 10_000;
/** Time limit of a call that waits for its row. SQLite itself waits 5 s for a lock. */
const PATIENCE_MS = 10_000;
const CLOSE_MS = 2000;
/** The JSON-RPC code of a call beyond the scopes of its key. */
const REFUSED = '-32003';
const REFUSED_EVERY_MS = 60_000;
const MAX_REFUSED = 10_000;

/**
 * The audit log. A thread of its own writes it, since a commit waits for the disk and the main thread must not. One
 * commit runs at a time; rows that arrive meanwhile share the next one. Key commands of other processes write the same
 * file.
 */
export class AuditLog {
  readonly #options: AuditLogOptions;
  #port: WorkerPort<AuditDatabase, AuditRequest, AuditAnswer> | null = null;
  #queue: Queued[] = [];
  /** The running commit. */
  #running: Promise<void> | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #writable = true;
  #closed = false;
  readonly #refused = new BoundedMap<{ at: number }>(MAX_REFUSED);

  constructor(options: AuditLogOptions) {
    this.#options = options;
  }

  /** Starts to write rows to this auth.db. */
  open(path: string): void {
    const { keep, log } = this.#options;
    this.#port = new WorkerPort({
      start: () => startWorker(new URL('./audit-worker.ts', import.meta.url), 'audit'),
      options: { path, keep },
      onFailure: (message) => log.error('the writer of the audit log failed', { message }),
    });
    this.#closed = false;
    // The thread starts now, so that it runs before the first spend needs it. Where it cannot start, the next row
    // starts it.
    void this.#send();
  }

  /** Whether the last commit succeeded. A failed commit is repeated every second. */
  get writable(): boolean {
    return this.#writable;
  }

  /**
   * Records a call before it is executed, for calls that must not happen unrecorded. Resolves with the id of the row
   * when it is on the disk; rejects with ApiError `audit_unavailable` when that is not certain.
   */
  async begin(call: AuditCall): Promise<number> {
    const waiting = Promise.withResolvers<number>();
    const queued = { row: { ...call, outcome: OUTCOME_STARTED, keyId: null, txid: null }, waiting };
    this.#queue.push(queued);
    void this.#send();
    const timer = setTimeout(() => {
      waiting.reject(unavailable());
      const at = this.#queue.indexOf(queued);
      if (at >= 0) this.#queue.splice(at, 1);
    }, PATIENCE_MS);
    try {
      return await waiting.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Queues the outcome of an announced call. */
  complete(id: number, call: AuditCall, outcome: AuditOutcome): void {
    this.#enqueue({ ...call, ...outcome, completes: id });
  }

  /** Queues a completed call. */
  record(call: AuditCall, outcome: AuditOutcome): void {
    this.#enqueue({ ...call, ...outcome });
  }

  /** Queues a call that was refused for its scope, at most once a minute per caller and method. */
  recordRefused(call: AuditCall): void {
    const last = this.#refused.getOrMake(`${call.who} ${call.method}`, () => ({ at: Number.NEGATIVE_INFINITY }));
    const now = performance.now();
    if (now - last.at < REFUSED_EVERY_MS) return;
    last.at = now;
    this.record(call, { outcome: REFUSED, keyId: null, txid: null });
  }

  /** Returns calls with their outcomes, newest first, older than `before`. */
  async page(filter: AuditFilter, before: number | null, limit: number): Promise<readonly AuditEntry[]> {
    await this.#flushed();
    const { entries, error } = await this.#request({ type: 'page', filter, before, limit });
    if (entries) return entries;
    this.#options.log.error('the audit log cannot be read', { error });
    return fail('internal_error', 'the audit log cannot be read');
  }

  /** Writes the queued rows, within a time limit. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
    const port = this.#port;
    if (!port?.isRunning) return;
    const until = performance.now() + CLOSE_MS;
    await Promise.race([this.#flushed(), Bun.sleep(CLOSE_MS)]);
    if (this.#queue.length > 0) this.#countLost(this.#queue.length);
    await port.close(Math.max(0, until - performance.now()));
  }

  #enqueue(row: AuditRow): void {
    if (!this.#port) return;
    this.#queue.push({ row, waiting: null });
    // A call that waits removes its own row from the queue, so only the others are counted.
    if (this.#queue.length > MAX_QUEUED) {
      const at = this.#queue.findIndex(({ waiting }) => waiting === null);
      this.#queue.splice(at, 1);
      this.#countLost(1);
    }
    this.#timer ??= setTimeout(() => this.#send(), this.#writable ? COLLECT_MS : RETRY_MS);
  }

  #countLost(rows: number): void {
    this.#options.metrics.auditLost(rows);
    this.#options.log.error('rows of the audit log are lost, since they cannot be written', { rows });
  }

  /** Resolves when all rows queued now have been tried once. */
  async #flushed(): Promise<void> {
    for (let tries = 0; tries < 3 && (this.#running || this.#queue.length > 0); tries++) await this.#send();
  }

  /** Writes the next rows unless a commit is running. An empty write checks whether rows can be written again. */
  #send(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#running ??= this.#write().finally(() => {
      this.#running = null;
      if (!this.#closed && this.#writable && this.#queue.length > 0) void this.#send();
    });
    return this.#running;
  }

  async #write(): Promise<void> {
    // All calls of this iteration of the event loop share the commit.
    await Promise.resolve();
    const batch = this.#queue.splice(0, ROWS_AT_ONCE);
    const { ids, error } = await this.#request({ type: 'append', rows: batch.map(({ row }) => row) });
    if (ids) {
      if (!this.#writable) this.#options.log.info('the audit log can be written again');
      this.#writable = true;
      for (const [i, { waiting }] of batch.entries()) waiting?.resolve(ids[i]!);
      return;
    }
    this.#options.metrics.auditFailure();
    if (this.#writable) this.#options.log.error('the audit log cannot be written: spends are refused', { error });
    this.#writable = false;
    for (const { waiting } of batch) waiting?.reject(unavailable());
    this.#queue.unshift(...batch.filter(({ waiting }) => waiting === null));
    if (this.#closed) return;
    this.#timer ??= setTimeout(() => this.#send(), RETRY_MS);
    this.#timer.unref();
  }

  /** Returns the answer of the worker, or the error for the log. */
  async #request(request: AuditRequest): Promise<AuditAnswer & { readonly error: string | null }> {
    if (!this.#port) return { error: 'auth.db is not open' };
    try {
      const result = await this.#port.request(request);
      return result.ok ? { ...result.answer, error: null } : { error: result.error };
    } catch (error) {
      return { error: String(error) };
    }
  }
}

function unavailable(): ApiError {
  return new ApiError('audit_unavailable', 'the audit log cannot be written, so the call was not made');
}
