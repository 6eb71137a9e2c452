import type { Call } from '../http/call.ts';
import { ApiError } from '../http/errors.ts';
import type { ApiOptions } from '../http/options.ts';
import { NODE, type Owner, ownerOf } from '../http/owner.ts';
import type { PlainReply } from '../http/plain-reply.ts';
import type { ReplyLedger } from '../http/reply-ledger.ts';
import { MempoolMirror } from '../mempool/mirror.ts';
import { type Answer, failureOf, type ReadEndpoint, replyOf, sentReply } from '../queries/answer.ts';
import { DerivedScripts } from '../queries/derived-scripts.ts';
import { NeedsWorker, type ReadEnv, withSnapshot } from '../queries/read-env.ts';
import type { AnswerService, JobPool, WorkerJob } from '../queries/read-service.ts';
import type { ReadSources } from '../queries/read-settings.ts';
import type { JobResult } from '../queries/reader-jobs.ts';
import { limitedSignal, sendableReply } from '../queries/sendable-reply.ts';
import type { TipView } from '../queries/tip-view.ts';
import { type TextCounts, TxTexts } from '../queries/tx-texts.ts';
import { READ_ENDPOINTS } from '../rest/read-endpoints.ts';
import type { ChainState } from '../storage/chain-reads.ts';
import { systemClock } from '../util/clock.ts';
import type { MaybePromise } from '../util/maybe-promise.ts';
import { hintsOf } from './reads/answer-hints.ts';
import { AnswerRows } from './reads/chain-rows.ts';
import { fetchesOf } from './reads/fetch-plan.ts';
import { notInSink } from './reads/not-in-sink.ts';
import { RowDatabase } from './reads/row-database.ts';
import { type RowNeeds, RowsMissing } from './reads/row-needs.ts';
import { SinkChain } from './reads/sink-chain.ts';
import { SinkState } from './reads/sink-state.ts';
import { StatementLimiter } from './statement-limiter.ts';

export interface SinkReadOptions {
  /** URL of the database, which may hold a password. */
  readonly url: string;
  /** Chain that the database must hold, as `chainNameOf` names it. */
  readonly network: string;
  /** Name of this server in the list of the database's sessions. */
  readonly name: string;
  readonly options: Pick<ApiOptions, 'http'>;
  /** The indexes, pruning and block filters of its settings are replaced by those of the tables. */
  readonly sources: ReadSources;
  readonly replies: ReplyLedger;
  call(request: Request): Call;
  /** Greatest number of connections. */
  readonly connections?: number;
  /** Whether transactions and blocks are kept as JSON. */
  readonly cacheTexts?: boolean;
  /** Limit of the rows of all answers together, bytes. */
  readonly maxRowBytes?: number;
}

const CONNECTIONS = 8;
/** Connections that the fetches of one owner leave to those of others. */
const SHARED_CONNECTIONS = 4;
/** Limit of the cache of transactions, bytes. */
const TEXT_BYTES = 32 << 20;
/** Limits of answers that wait for the database: of one owner, and of all. */
const WAITING_PER_OWNER = 64;
const WAITING = 512;
/** Limits of one answer: fetches, bytes of rows, attempts that another tip ended, and announced work in microseconds. */
const MAX_FETCHES = 500;
const MAX_BYTES = 128 << 20;
const MAX_TIPS = 30;
const MAX_ALL_BYTES = 512 << 20;
/** Above the limit of all rows, only answers with less than this share of them are made. */
const FEW = 1 / 512;
const MAX_WORK_US = 10_000_000;

/** How an answer is made. */
interface Making {
  readonly signal: AbortSignal;
  readonly owner: Owner;
  /** Rows that it will read. */
  readonly hints?: RowNeeds;
  /** The lowest height of the tip that it may show. */
  readonly minHeight?: number;
}

/** The rows that an answer holds while it is made. */
interface HeldRows {
  bytes: number;
}

/**
 * Answers read requests from the tables of a sink, with the same functions as a node. An answer runs on rows that were
 * fetched; where one is missing, it is fetched, and the answer is made again. All rows of an answer belong to the tip that it
 * names: each statement names the tip that it has read, and where that is another one, the answer starts again there.
 *
 * An answer that needs no rows is at most 100 milliseconds older than the database. `expireTip` shortens this. Where the
 * database cannot be reached, or is not filled, answers are 503 `warming_up`; 503 `overloaded` where a statement takes longer
 * than ten seconds, where too many answers wait, or at the limits of one answer. No event, filter or statistic of the UTXO set
 * can be read: these are 501 `feature_disabled`. The mempool is empty.
 *
 * The constructor connects to nothing: connections are made when they are needed, and again when one was lost.
 */
export class SinkReadService implements AnswerService {
  readonly sources: ReadSources;
  readonly #options: SinkReadOptions;
  readonly #database: RowDatabase;
  readonly #state: SinkState;
  readonly #texts: TxTexts | null;
  readonly #derived = new DerivedScripts();
  readonly #mirror = new MempoolMirror(systemClock);
  readonly #waiting = new Map<Owner, number>();
  readonly #limiter: StatementLimiter;
  readonly #maxRowBytes: number;
  #waitingAll = 0;
  /** Size of the rows of all answers that are being made. */
  #heldBytes = 0;

  constructor(options: SinkReadOptions) {
    const { url, network, name, sources, connections = CONNECTIONS, cacheTexts = true } = options;
    this.#maxRowBytes = options.maxRowBytes ?? MAX_ALL_BYTES;
    this.#options = options;
    this.sources = { ...sources, settings: settingsOfTables(sources.settings) };
    this.#database = new RowDatabase(url, { name, connections });
    this.#state = new SinkState(this.#database, network);
    this.#limiter = new StatementLimiter(Math.max(1, connections - SHARED_CONNECTIONS));
    this.#texts = cacheTexts ? new TxTexts(TEXT_BYTES) : null;
  }

  /** The tip that was read last; null before the first. */
  tip(): TipView | null {
    return this.#state.tip();
  }

  /** Reads the tip of the database. Rejects with ApiError `warming_up` or `overloaded`. */
  async readTip(): Promise<TipView> {
    await this.#state.read();
    return this.#state.tip()!;
  }

  /** Must be called when the database has another tip: the next answer shows that one. */
  expireTip(): void {
    this.#state.expire();
  }

  /** Number of statements that were sent. */
  get statements(): number {
    return this.#database.statements;
  }

  /** Returns the reply of an endpoint. */
  respond<I>(endpoint: ReadEndpoint<I>, input: I, request: Request): MaybePromise<Response | PlainReply> {
    return this.#reply((env) => endpoint.run(env, input), request, hintsOf(endpoint.name, input));
  }

  /** Returns the reply of an answer. */
  reply(make: (env: ReadEnv) => Answer, request: Request): MaybePromise<Response | PlainReply> {
    return this.#reply(make, request);
  }

  /** Runs `read` on the present state and the rows that are there. Throws NeedsWorker where others are needed. */
  read<T>(read: (env: ReadEnv) => T): T {
    const { present } = this.#state;
    if (present === null) throw new NeedsWorker('the tip of the database is not known');
    try {
      return this.#run(present, new AnswerRows(this.#state.rows), read);
    } catch (error) {
      if (error instanceof RowsMissing) throw new NeedsWorker(error.message);
      throw error;
    }
  }

  /** As `read`, but only on a state that the database has had a moment before. */
  readNow<T>(read: (env: ReadEnv) => T): T {
    if (!this.#state.isFresh) throw new NeedsWorker('the tip of the database has to be read');
    return this.read(read);
  }

  /** Runs `read` on one state, and fetches what it needs. */
  readWhole<T>(read: (env: ReadEnv) => T, signal: AbortSignal): Promise<T> {
    return this.#answer(read, { signal: this.#limited(signal), owner: NODE });
  }

  readShort<T>(read: (env: ReadEnv) => T, signal: AbortSignal): Promise<T> {
    return this.readWhole(read, signal);
  }

  /** Whether a reply that was made of a state is still the same. */
  isPresent({ state }: Pick<ReadEnv, 'state' | 'mempoolSeq'>): boolean {
    return this.#state.present === state && this.#state.isFresh;
  }

  /** Runs the job of an endpoint, as a reader worker of a node does. Other jobs are `feature_disabled`. */
  async runJob({ job, signal, owner = NODE }: WorkerJob): Promise<JobResult> {
    try {
      if (job.kind !== 'rest') return notInSink(`job ${job.kind}`);
      const endpoint = READ_ENDPOINTS.get(job.name);
      if (endpoint === undefined) return notInSink(`answer ${job.name}`);
      const make = (env: ReadEnv) => sentReply(replyOf(env, endpoint.run(env, job.input)));
      const making = { signal: this.#limited(signal), owner, hints: hintsOf(job.name, job.input) };
      return { ok: true, reply: await this.#answer(make, making) };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return { ok: false, api: failureOf(error) };
    }
  }

  get textCounts(): TextCounts | null {
    return this.#texts?.counts ?? null;
  }

  /** Jobs run in this thread. */
  get pool(): JobPool {
    return {
      run: (job, { signal, long = false, owner = NODE }) => this.runJob({ job, signal, long, owner }),
      dispatch: () => {},
      close: () => this.close(),
    };
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  #reply(make: (env: ReadEnv) => Answer, request: Request, hints: RowNeeds = {}): MaybePromise<Response | PlainReply> {
    const read = (env: ReadEnv) => replyOf(env, make(env));
    // The server has reached this height, but the database may have gone back since.
    const minHeight = Number(request.headers.get('x-chain-height') ?? 0);
    if ((this.#state.present?.tip.height ?? -1) >= minHeight)
      try {
        return sendableReply(this.readNow(read), request, this.#options);
      } catch (error) {
        if (!(error instanceof NeedsWorker)) throw error;
      }
    const owner = ownerOf(this.#options.call(request));
    const making = { signal: this.#limited(request.signal), owner, hints, minHeight };
    return this.#answer(read, making).then((reply) => sendableReply(reply, request, this.#options));
  }

  async #answer<T>(read: (env: ReadEnv) => T, making: Making): Promise<T> {
    this.#admit(making.owner);
    const held: HeldRows = { bytes: 0 };
    try {
      return await this.#attempts(read, making, held);
    } finally {
      this.#heldBytes -= held.bytes;
      this.#release(making.owner);
    }
  }

  /** Records the size of the rows of an answer. Throws ApiError `overloaded` where that is too much; events must be made. */
  #holdRows(held: HeldRows, bytes: number, owner: Owner): void {
    this.#heldBytes += bytes - held.bytes;
    held.bytes = bytes;
    if (bytes > MAX_BYTES) throw tooMuch(`${MAX_BYTES >> 20} MiB of rows`);
    if (owner !== NODE && this.#heldBytes > this.#maxRowBytes && bytes > this.#maxRowBytes * FEW)
      throw new ApiError('overloaded', 'the answers that are being made need too much memory');
  }

  async #attempts<T>(
    read: (env: ReadEnv) => T,
    { signal, owner, hints = {}, minHeight = 0 }: Making,
    held: HeldRows,
  ): Promise<T> {
    // Whether the database had this tip after the request came.
    let isConfirmed = this.#state.present === null;
    let state = this.#state.present ?? (await this.#state.read());
    if (state.tip.height < minHeight) {
      isConfirmed = true;
      state = await this.#state.read();
    }
    let rows = new AnswerRows(this.#state.rows);
    let wanted = hints;
    let tips = 0;
    for (let fetches = 0; fetches < MAX_FETCHES; fetches++) {
      if (signal.aborted) throw new ApiError('overloaded', 'the request timed out');
      this.#holdRows(held, rows.bytes, owner);
      if (this.#state.present !== state) {
        if (++tips > MAX_TIPS) throw new ApiError('overloaded', 'the chain changes faster than the answer is made');
        state = this.#state.present!;
        rows = new AnswerRows(this.#state.rows);
        isConfirmed = true;
      }
      const outcome = this.#attempt(state, rows, read);
      if ('needs' in outcome) {
        const fetch = fetchesOf({ ...outcome.needs, ...wanted });
        isConfirmed = await this.#limiter.run(owner, () => this.#state.fetch(fetch, rows, state));
        wanted = {};
        continue;
      }
      // An answer that needed no rows is shown only at a tip that the database still has.
      if (!isConfirmed && !this.#state.isFresh) await this.#state.read();
      if (this.#state.present !== state) continue;
      if (state.tip.height < minHeight) throw behind(state.tip.height, minHeight);
      if ('error' in outcome) throw outcome.error;
      return outcome.value;
    }
    throw tooMuch(`${MAX_FETCHES} statements`);
  }

  #attempt<T>(
    state: ChainState,
    rows: AnswerRows,
    read: (env: ReadEnv) => T,
  ): { readonly value: T } | { readonly error: unknown } | { readonly needs: RowNeeds } {
    try {
      return { value: this.#run(state, rows, read) };
    } catch (error) {
      return error instanceof RowsMissing ? { needs: error.needs } : { error };
    }
  }

  #run<T>(state: ChainState, rows: AnswerRows, read: (env: ReadEnv) => T): T {
    this.#mirror.tip = state.tipView.hash;
    const base = {
      ...{ reads: new SinkChain(rows, state), mirror: this.#mirror, texts: this.#texts, derived: this.#derived },
      ...this.sources,
    };
    let work = 0;
    return withSnapshot(
      base,
      (microseconds) => {
        work += microseconds;
        if (work > MAX_WORK_US) throw tooMuch(`${MAX_WORK_US / 1e6} seconds of work`);
      },
      read,
    );
  }

  #admit(owner: Owner): void {
    const own = this.#waiting.get(owner) ?? 0;
    if (own >= WAITING_PER_OWNER && owner !== NODE)
      throw new ApiError('rate_limited', 'too many requests of this key are waiting for the database', {
        scope: 'reads',
        retryAfter: 1,
      });
    if (this.#waitingAll >= WAITING) throw new ApiError('overloaded', 'too many requests are waiting for the database');
    this.#waiting.set(owner, own + 1);
    this.#waitingAll++;
  }

  #release(owner: Owner): void {
    this.#waitingAll--;
    const own = this.#waiting.get(owner)! - 1;
    if (own > 0) this.#waiting.set(owner, own);
    else this.#waiting.delete(owner);
  }

  #limited(signal: AbortSignal): AbortSignal {
    return limitedSignal(signal, this.#options.options.http.requestTimeoutMs);
  }
}

function behind(height: number, wanted: number): ApiError {
  return new ApiError('syncing', `the database is at height ${height}, below the height ${wanted} of the request`, {
    height,
    wanted,
  });
}

function tooMuch(what: string): ApiError {
  return new ApiError('overloaded', `the answer needs more than ${what}`);
}

/** Returns the settings with those that the tables determine: all blocks and the indexes of transactions are there. */
function settingsOfTables(settings: ReadSources['settings']): ReadSources['settings'] {
  const indexes = { tx: true, address: true, spender: true, coinStats: false };
  return { ...settings, indexes, prune: null, filterIndex: false };
}
