import { sha256OfText } from '../crypto/hash-functions.ts';
import type { ByteCache } from '../http/byte-cache.ts';
import type { Call } from '../http/call.ts';
import { ApiError } from '../http/errors.ts';
import type { ApiOptions } from '../http/options.ts';
import { NODE, type Owner, ownerOf } from '../http/owner.ts';
import type { PlainReply } from '../http/plain-reply.ts';
import type { ReplyLedger } from '../http/reply-ledger.ts';
import type { MirrorPart } from '../mempool/mirror.ts';
import type { ChainReads } from '../storage/chain-reads.ts';
import type { Log } from '../util/log.ts';
import type { MaybePromise } from '../util/maybe-promise.ts';
import { type Answer, type ReadEndpoint, type ReadReply, replyOf } from './answer.ts';
import { mempoolSlotsOf, txidsTouching } from './mempool-parts.ts';
import type { MempoolState } from './mempool-state.ts';
import { frontBudget, MempoolBehind, NeedsWorker, type ReadEnv, withSnapshot } from './read-env.ts';
import type { ReadSources } from './read-settings.ts';
import type { JobResult, ReaderJob } from './reader-jobs.ts';
import { ReaderPool } from './reader-pool.ts';
import { limitedSignal, replyResponse, sendableReply } from './sendable-reply.ts';
import { type TextCounts, TxTexts } from './tx-texts.ts';

const READER_WORKERS = 2;
const RESERVED_READERS = 1;
const LONG_READERS = 3;
const JOBS_PER_KEY = 64;
const JOBS_TOTAL = 512;
/** Limit of the cache of transactions, bytes. */
const TEXT_BYTES = 32 << 20;
/** Maximum length of a request that is cached with its reply, characters. */
const MAX_QUESTION = 1024;

/** A job for a worker, and the slots of the mempool that it needs, if any. */
export interface WorkerJob {
  readonly job: ReaderJob;
  readonly signal: AbortSignal;
  readonly long: boolean;
  /** The owner of the request; the node itself where absent. */
  readonly owner?: Owner;
  mempoolPart?: ((env: ReadEnv) => Iterable<number>) | undefined;
}

/** Runs jobs in reader workers. */
export type JobPool = Pick<ReaderPool, 'run' | 'dispatch' | 'close'>;

export interface ReadServiceOptions {
  readonly options: Pick<ApiOptions, 'chainDir' | 'http'>;
  readonly sources: ReadSources;
  readonly log: Log;
  /** Null when the cache is disabled. */
  readonly cache: ByteCache | null;
  readonly replies: ReplyLedger;
  /** Returns the readers of the chain. Throws ApiError `warming_up` until the node is attached. */
  reads(): ChainReads;
  readonly mempool: Pick<MempoolState, 'mirror' | 'moved'>;
  call(request: Request): Call;
  /** Starts a reader worker. */
  readonly startReader: () => Worker;
  /** The pool of the first front; null on that front, which has its own. */
  readonly sharedPool: JobPool | null;
}

/** The members of `ReadService`, which the servers of a sink answer with another class. */
export type AnswerService = Pick<ReadService, keyof ReadService>;

/** Answers read requests: short ones at once on the main thread's connection, long ones in reader workers. */
export class ReadService {
  readonly sources: ReadSources;
  readonly #ctx: ReadServiceOptions;
  readonly #pool: JobPool;
  readonly #texts: TxTexts | null;

  constructor(ctx: ReadServiceOptions) {
    this.#ctx = ctx;
    const { log, options, sources } = ctx;
    this.sources = sources;
    this.#texts = ctx.cache && new TxTexts(TEXT_BYTES);
    this.#pool =
      ctx.sharedPool ??
      new ReaderPool({
        chainDir: options.chainDir,
        sources,
        workers: READER_WORKERS,
        longWorkers: LONG_READERS,
        reservedWorkers: RESERVED_READERS,
        perKey: JOBS_PER_KEY,
        total: JOBS_TOTAL,
        hasRoom: (owner) => ctx.replies.hasRoom(owner),
        startReader: ctx.startReader,
        log,
      });
    ctx.replies.onRoom(() => this.#pool.dispatch());
  }

  /**
   * Runs `read` on one snapshot, synchronously. Throws MempoolBehind where it reads the mempool and the mempool is
   * behind.
   */
  read<T>(read: (env: ReadEnv) => T): T {
    return this.#snapshot(() => {}, read);
  }

  /** Runs `read` on one snapshot, and waits for the mempool where it is behind. */
  readWhole<T>(read: (env: ReadEnv) => T, signal: AbortSignal): Promise<T> {
    return this.#caughtUp(() => this.read(read), signal);
  }

  /** As `readWhole`, but rejects with NeedsWorker when the work exceeds the budget of the main thread. */
  readShort<T>(read: (env: ReadEnv) => T, signal: AbortSignal): Promise<T> {
    return this.#caughtUp(() => this.#snapshot(frontBudget(), read), signal);
  }

  /**
   * Runs `read` on one snapshot, synchronously. Throws NeedsWorker as `readShort` does, and MempoolBehind where it would
   * wait for the mempool.
   */
  readNow<T>(read: (env: ReadEnv) => T): T {
    return this.#snapshot(frontBudget(), read);
  }

  /** Whether a reply that was made of a state of the chain, and of the mempool if it read that, is still the same. */
  isPresent({ state, mempoolSeq }: Pick<ReadEnv, 'state' | 'mempoolSeq'>): boolean {
    const { reads, mempool } = this.#ctx;
    return reads().state() === state && (mempoolSeq === null || mempool.mirror.seq === mempoolSeq);
  }

  /** Returns the reply of an endpoint, made on the main thread or in a worker. */
  respond<I>(endpoint: ReadEndpoint<I>, input: I, request: Request): MaybePromise<Response | PlainReply> {
    const make = (env: ReadEnv) => replyOf(env, endpoint.run(env, input));
    try {
      // Most replies need no signal, which takes longer to make than some of them.
      return this.#sendable(this.readNow(make), request);
    } catch (error) {
      if (error instanceof NeedsWorker) return this.#respondFromWorker(endpoint, input, request);
      if (!(error instanceof MempoolBehind)) throw error;
    }
    return this.#respondLater(make, request).catch((error: unknown) => {
      if (error instanceof NeedsWorker) return this.#respondFromWorker(endpoint, input, request);
      throw error;
    });
  }

  /** Makes a short reply after the mempool has caught up. Rejects with NeedsWorker. */
  async #respondLater(make: (env: ReadEnv) => PlainReply, request: Request): Promise<Response | PlainReply> {
    return this.#sendable(await this.readShort(make, this.#limited(request.signal)), request);
  }

  async #respondFromWorker<I>(endpoint: ReadEndpoint<I>, input: I, request: Request): Promise<Response> {
    const signal = this.#limited(request.signal);
    const owner = ownerOf(this.#ctx.call(request));
    return this.#response(await this.#long(endpoint, input, { signal, owner }), request);
  }

  /** Runs a job in a worker. The job ends when the signal aborts. */
  async runJob({ job, signal, long, owner = NODE, mempoolPart }: WorkerJob): Promise<JobResult> {
    let covered: readonly Uint8Array[] = [];
    let scripts: Uint8Array | null = null;
    for (;;) {
      const touching: typeof mempoolPart = scripts ? await this.#slotsTouching(scripts, signal) : undefined;
      const slots = (env: ReadEnv) => [...mempoolPart!(env), ...(touching?.(env) ?? [])];
      const mempool = mempoolPart && (await this.#part(slots, signal, covered, scripts ?? undefined));
      const result = await this.#pool.run({ ...job, mempool }, { signal, long, owner });
      if ('spendersOf' in result) covered = [...covered, ...result.spendersOf];
      else if ('touching' in result) scripts = result.touching;
      else if (!('behind' in result)) return result;
    }
  }

  /** Returns the reply of an answer that is made on the main thread. */
  reply(make: (env: ReadEnv) => Answer, request: Request): MaybePromise<Response | PlainReply> {
    const read = (env: ReadEnv) => replyOf(env, make(env));
    try {
      return this.#sendable(this.read(read), request);
    } catch (error) {
      if (!(error instanceof MempoolBehind)) throw error;
    }
    return this.readWhole(read, request.signal).then((reply) => this.#sendable(reply, request));
  }

  /** Look-ups in the cache of transactions; null where it is disabled. */
  get textCounts(): TextCounts | null {
    return this.#texts?.counts ?? null;
  }

  /** The pool of reader workers, for other fronts. */
  get pool(): JobPool {
    return this.#pool;
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  #snapshot<T>(expectWork: (microseconds: number) => void, read: (env: ReadEnv) => T): T {
    const { mirror } = this.#ctx.mempool;
    const { params, settings } = this.sources;
    return withSnapshot({ reads: this.#ctx.reads(), params, settings, mirror, texts: this.#texts }, expectWork, read);
  }

  async #caughtUp<T>(attempt: () => T, signal: AbortSignal): Promise<T> {
    for (;;) {
      try {
        return attempt();
      } catch (error) {
        if (!(error instanceof MempoolBehind)) throw error;
      }
      await this.#ctx.mempool.moved(signal);
    }
  }

  #part(
    slots: (env: ReadEnv) => Iterable<number>,
    signal: AbortSignal,
    covered: readonly Uint8Array[],
    scripts?: Uint8Array,
  ): Promise<MirrorPart> {
    return this.readWhole((env) => env.mempool.part(slots(env), covered, scripts), signal);
  }

  /** Finds the mempool transactions of packed scripts, which may be thousands, in slices. */
  async #slotsTouching(scripts: Uint8Array, signal: AbortSignal): Promise<(env: ReadEnv) => Iterable<number>> {
    const { mirror } = this.#ctx.mempool;
    const { seq } = mirror;
    const txids = await txidsTouching(mirror, scripts, signal);
    // A transaction that arrives between two slices is included, whether it touches a script or not.
    return (env) => [...mempoolSlotsOf(env, txids), ...env.mempool.after(seq)];
  }

  /** A reply of a worker is reused until the chain or the mempool changes. */
  async #long<I>(
    endpoint: ReadEndpoint<I>,
    input: I,
    { signal, owner }: { signal: AbortSignal; owner: Owner },
  ): Promise<ReadReply> {
    const { mempoolPart } = endpoint;
    const text = JSON.stringify(input, bytesAsHex);
    // Hashed, so that no descriptor stays in memory as the name of a reply.
    const question = `${endpoint.name} ${sha256OfText(text).toHex()}`;
    const isCached = text.length <= MAX_QUESTION && endpoint.isCached?.(input) !== false;
    const cache = isCached ? this.#ctx.cache : null;
    const seq = mempoolPart ? this.#ctx.mempool.mirror.seq : 0;
    const known = cache && cachedReply(cache, `${this.#ctx.reads().state().tipView.hash} ${seq} ${question}`);
    if (known) return known;
    const made = restReply(
      await this.runJob({
        job: { kind: 'rest', name: endpoint.name, input },
        signal,
        long: false,
        owner,
        mempoolPart: mempoolPart && ((env) => mempoolPart(env, input)),
      }),
    );
    // A reply made from a later state of the mempool is stored under the earlier one, where no request finds it.
    if (cache) cacheReply(cache, `${made.headers['x-chain-hash']} ${seq} ${question}`, made);
    return made;
  }

  #sendable(reply: PlainReply, request: Request): Response | PlainReply {
    return sendableReply(reply, request, this.#ctx);
  }

  #response(reply: ReadReply, request: Request): Response {
    return replyResponse(reply, request, this.#ctx);
  }

  #limited(signal: AbortSignal): AbortSignal {
    return limitedSignal(signal, this.#ctx.options.http.requestTimeoutMs);
  }
}

function bytesAsHex(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? value.toHex() : value;
}

/** Body and headers are separate entries, since the cache stores only bytes. */
function cachedReply(cache: ByteCache, key: string): ReadReply | null {
  const headers = cache.get(`${key} headers`);
  const body = cache.get(key);
  return headers && body && { headers: JSON.parse(new TextDecoder().decode(headers)) as ReadReply['headers'], body };
}

function cacheReply(cache: ByteCache, key: string, { headers, body }: ReadReply): void {
  if (typeof body === 'string') return;
  cache.set(key, body);
  cache.set(`${key} headers`, new TextEncoder().encode(JSON.stringify(headers)));
}

function restReply(result: JobResult): ReadReply {
  if (result.ok) return result.reply;
  if ('rpc' in result) throw new Error(result.rpc.message);
  throw new ApiError(result.api.failure, result.api.message, result.api.details);
}
