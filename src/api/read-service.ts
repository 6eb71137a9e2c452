import { hashToHex } from '../primitives/hash.ts';
import type { ByteCache } from './byte-cache.ts';
import type { ApiContext } from './context.ts';
import { ApiError } from './errors.ts';
import type { ReaderJob, ReaderResult } from './reader-jobs.ts';
import { ReaderPool } from './reader-pool.ts';
import { type Answer, type ReadEndpoint, type ReadReply, replyOf } from './readers/answer.ts';
import { NeedsWorker, type ReadEnv, withSnapshot } from './readers/read-env.ts';
import { type ReadSources, readSources } from './readers/read-settings.ts';

const READER_WORKERS = 2;
const READER_QUEUE = 64;
/** Characters of a question that is remembered with its answer. */
const MAX_QUESTION = 1024;

/** Answers from the chain: short ones at once on the front's connection, long ones by the reader workers. */
export class ReadService {
  readonly sources: ReadSources;
  readonly #ctx: ApiContext;
  readonly #pool: ReaderPool;

  constructor(ctx: ApiContext, sources: ReadSources) {
    this.#ctx = ctx;
    this.sources = sources;
    const { log, options } = ctx;
    this.#pool = new ReaderPool({
      dir: options.networkDir,
      sources,
      workers: READER_WORKERS,
      queue: READER_QUEUE,
      log,
    });
  }

  /** Reads on one snapshot, here and now. */
  read<T>(read: (env: ReadEnv) => T): T {
    return withSnapshot({ reads: this.#ctx.reads(), ...this.sources }, false, read);
  }

  /** The same, but throws NeedsWorker where it would hold up the front. */
  readShort<T>(read: (env: ReadEnv) => T): T {
    return withSnapshot({ reads: this.#ctx.reads(), ...this.sources }, true, read);
  }

  /** The reply of an endpoint to a request; made wherever its work belongs. */
  async respond<I>(endpoint: ReadEndpoint<I>, input: I, request: Request): Promise<Response> {
    const short = this.#try(endpoint, input);
    return response(short ?? (await this.#long(endpoint, input, request.signal)));
  }

  /** Hands a job to the workers; it ends when the signal aborts. */
  runJob(job: ReaderJob, { signal, long }: { signal: AbortSignal; long: boolean }): Promise<ReaderResult> {
    return this.#pool.run(job, { signal, long });
  }

  /** The reply of an answer that was made on the front. */
  reply(make: (env: ReadEnv) => Answer): Response {
    return response(this.read((env) => replyOf(env, make(env))));
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  #try<I>(endpoint: ReadEndpoint<I>, input: I): ReadReply | null {
    try {
      return this.readShort((env) => replyOf(env, endpoint.run(env, input)));
    } catch (error) {
      if (error instanceof NeedsWorker) return null;
      throw error;
    }
  }

  /** What a worker made once serves until the chain moves. */
  async #long<I>(endpoint: ReadEndpoint<I>, input: I, signal: AbortSignal): Promise<ReadReply> {
    const question = `${endpoint.name} ${JSON.stringify(input, bytesAsHex)}`;
    const cache = question.length <= MAX_QUESTION ? this.#ctx.cache : null;
    const known = cache && cachedReply(cache, `${hashToHex(this.#ctx.reads().tip().hash)} ${question}`);
    if (known) return known;
    const job: ReaderJob = { kind: 'rest', name: endpoint.name, input };
    const made = restReply(await this.#pool.run(job, { signal: this.#limited(signal) }));
    if (cache) cacheReply(cache, `${made.headers['x-chain-hash']} ${question}`, made);
    return made;
  }

  #limited(signal: AbortSignal): AbortSignal {
    const ms = this.#ctx.options.http.requestTimeoutMs;
    return ms > 0 ? AbortSignal.any([signal, AbortSignal.timeout(ms)]) : signal;
  }
}

const services = new WeakMap<ApiContext, ReadService>();

/** The one service of a context. `sources` are the defaults unless given at the first call. */
export function readService(ctx: ApiContext, sources?: ReadSources): ReadService {
  let service = services.get(ctx);
  if (!service) {
    const { service: name, version, userAgent, http } = ctx.options;
    service = new ReadService(
      ctx,
      sources ?? readSources(ctx.params, { service: name, version, userAgent, publicUrl: http.publicUrl }),
    );
    services.set(ctx, service);
    const opened = service;
    ctx.onStop(() => opened.close());
  }
  return service;
}

function bytesAsHex(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? value.toHex() : value;
}

/** Body and headers stand beside each other, since the cache holds bytes alone. */
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

function restReply(result: ReaderResult): ReadReply {
  if (result.ok) return result.reply;
  if ('rpc' in result) throw new Error(result.rpc.message);
  throw new ApiError(result.api.failure, result.api.message, result.api.details);
}

function response({ headers, body }: ReadReply): Response {
  return new Response(body as string | Uint8Array<ArrayBuffer>, { headers });
}
