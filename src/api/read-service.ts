import type { ApiContext } from './context.ts';
import { ApiError } from './errors.ts';
import type { ReaderJob, ReaderResult } from './reader-jobs.ts';
import { ReaderPool } from './reader-pool.ts';
import { type Answer, type ReadEndpoint, type ReadReply, replyOf } from './readers/answer.ts';
import { NeedsWorker, type ReadEnv, withSnapshot } from './readers/read-env.ts';
import { type ReadSources, readSources } from './readers/read-settings.ts';

const READER_WORKERS = 2;
const READER_QUEUE = 64;

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
    if (short) return response(short);
    const job: ReaderJob = { kind: 'rest', name: endpoint.name, input };
    return response(restReply(await this.#pool.run(job, { signal: this.#limited(request.signal) })));
  }

  /** Hands a job to the workers; it ends when the signal aborts. */
  runJob(job: ReaderJob, { signal, long }: { signal: AbortSignal; long: boolean }): Promise<ReaderResult> {
    return this.#pool.run(job, { signal, long });
  }

  /** The reply of an answer that was made on the front. */
  reply(make: (env: ReadEnv) => Answer): Response {
    return response(this.read((env) => replyOf(env, make(env))));
  }

  close(): void {
    this.#pool.close();
  }

  #try<I>(endpoint: ReadEndpoint<I>, input: I): ReadReply | null {
    try {
      return this.readShort((env) => replyOf(env, endpoint.run(env, input)));
    } catch (error) {
      if (error instanceof NeedsWorker) return null;
      throw error;
    }
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
  }
  return service;
}

function restReply(result: ReaderResult): ReadReply {
  if (result.ok) return result.reply;
  if ('rpc' in result) throw new Error(result.rpc.message);
  throw new ApiError(result.api.failure, result.api.message, result.api.details);
}

function response({ headers, body }: ReadReply): Response {
  return new Response(body as string | Uint8Array<ArrayBuffer>, { headers });
}
