import type { AuditLog } from '../auth/audit/audit-log.ts';
import type { RateBucket } from '../auth/rate-limits.ts';
import { acceptsGzip, compressed, isCompressible, MIN_COMPRESSED_BYTES } from '../http/compress.ts';
import { ApiError, BEARER_CHALLENGE, errorResponse, JSON_TYPE, shownError } from '../http/errors.ts';
import { etagMatches } from '../http/etag.ts';
import type { ApiOptions } from '../http/options.ts';
import { ownerOf } from '../http/owner.ts';
import { PlainReply } from '../http/plain-reply.ts';
import { ANONYMOUS } from '../http/principal.ts';
import type { ReplyLedger } from '../http/reply-ledger.ts';
import type { TipView } from '../queries/tip-view.ts';
import { isOfCoreClient } from '../rpc/engine/warm-up.ts';
import type { Clock } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import type { MaybePromise } from '../util/maybe-promise.ts';
import { recordAdminRequest } from './admin-request.ts';
import { ended } from './connections/visitors.ts';
import { corsHeaders } from './cors.ts';
import { COMMON_HEADERS, HeaderTemplates, WITH } from './header-templates.ts';
import type { ApiMetrics } from './ops/metrics.ts';
import type { RefusalPace } from './refusal-pace.ts';
import { requestFields } from './trace-context.ts';
import { SOCKET_PATH, type Visit, type Visits } from './visit.ts';

export interface ReplyDependencies {
  readonly options: ApiOptions;
  readonly log: Log;
  readonly clock: Clock;
  readonly metrics: Pick<ApiMetrics, 'http'>;
  readonly audit: Pick<AuditLog, 'record'>;
  readonly replies: ReplyLedger;
  readonly refusals: RefusalPace;
  tip(): TipView | null;
  syncing(): boolean;
}

const LONG_BODY = 64 * 1024;
const EVENT_STREAM = 'text/event-stream';
/** The runtime counts idle time in steps of four seconds: a timeout of two steps ends after four to eight seconds. */
const LEAST_STREAM_TIMEOUT = 8;

/** Turns the outcome of a request into the reply that is sent: headers, 304, compression, pace, metrics and audit log. */
export class ReplyFinisher {
  readonly #deps: ReplyDependencies;
  readonly #visits: Pick<Visits, 'recordPrompt' | 'recordVisitor'>;
  readonly #templates = new HeaderTemplates();

  constructor(deps: ReplyDependencies, visits: Pick<Visits, 'recordPrompt' | 'recordVisitor'>) {
    this.#deps = deps;
    this.#visits = visits;
  }

  /** Returns the error body of an exception. An exception that the client did not cause is logged and not shown. */
  failed(visit: Visit, error: unknown): Response {
    const { request, requestId, shape, contentLength } = visit;
    const shown = shownError(error);
    if (!shown) this.#deps.log.error('request failed', { ...requestFields(visit), error });
    const response = errorResponse(shown ?? new ApiError('internal_error', 'internal error'), requestId, shape);
    if (response.status === 401 && !this.#deps.options.auth.basic)
      response.headers.set('www-authenticate', BEARER_CHALLENGE);
    // The connection closes, since the rest of a long body is not worth reading.
    if (Number(contentLength) > LONG_BODY) response.headers.set('connection', 'close');
    // Clients of Bitcoin Core wait during warm-up only if the reply has Core's status, and give up on 503.
    if (shape === 'rpc' && shown?.failure === 'warming_up' && isOfCoreClient(request))
      return new Response(response.body, { status: 500, headers: response.headers });
    return response;
  }

  /** Returns the reply as it is sent; undefined once the connection is a WebSocket. */
  finish(visit: Visit, reply: Response | PlainReply): MaybePromise<Response | undefined> {
    visit.release?.();
    visit.release = null;
    const isReply = reply instanceof PlainReply;
    // Refusals may wait, and long bodies take their time.
    if (isReply && reply.body.length <= LONG_BODY) this.#visits.recordPrompt(visit);
    else this.#visits.recordVisitor(visit);
    // A route that bypasses the checks would be open to every client.
    if (!visit.checked && (isReply || reply.ok))
      return this.#complete(visit, this.failed(visit, new Error('a reply without any check')));
    if (isReply)
      return this.#isPlain(visit, reply)
        ? this.#completePlain(visit, reply)
        : this.#complete(visit, reply.toResponse());
    if (visit.upgraded) {
      this.#record(visit, 101);
      return undefined;
    }
    return reply.status === 429 ? this.#completeRefusal(visit, reply) : this.#complete(visit, reply);
  }

  /** Refusals of admitted requests are paced here; wrong credentials have a pace of their own. */
  #completeRefusal(visit: Visit, reply: Response): MaybePromise<Response> {
    if (!visit.call) return this.#complete(visit, reply);
    const pace = this.#deps.refusals.next(ownerOf(visit));
    if (pace === 'and close') reply.headers.set('connection', 'close');
    if (typeof pace === 'string') return this.#complete(visit, reply);
    return pace.then(() => this.#complete(visit, reply));
  }

  /** Whether a reply needs neither a comparison of ETags, nor compression, nor headers for pages of other origins. */
  #isPlain({ request }: Visit, { kind, body, etag }: PlainReply): boolean {
    const { headers } = request;
    if (this.#deps.options.http.corsOrigins.length > 0) return false;
    if (etag !== null && headers.get('if-none-match') !== null) return false;
    // Text has at most three bytes for each character.
    const mayBeLong = body.length * 3 > MIN_COMPRESSED_BYTES;
    return !(mayBeLong && isCompressible(kind.type) && acceptsGzip(headers.get('accept-encoding')));
  }

  /** Does the same as `#complete` for a reply with status 200 that is sent as it is. */
  #completePlain(visit: Visit, { kind, body, tip, etag, link }: PlainReply): Response {
    const { bucket, requestId } = visit;
    const extra =
      (etag !== null ? WITH.etag : 0) |
      (link !== null ? WITH.link : 0) |
      (bucket ? WITH.limit : 0) |
      (isCompressible(kind.type) ? WITH.vary : 0);
    const headers = this.#templates.get(kind, extra, {
      tip: tip ?? this.#deps.tip(),
      syncing: this.#deps.syncing(),
      isRead: visit.method === 'GET',
    });
    headers.set('x-request-id', requestId);
    if (etag !== null) headers.set('etag', etag);
    if (link !== null) headers.set('link', link);
    if (bucket) setLimit(headers, bucket);
    this.#record(visit, 200);
    return new Response(body as string | Uint8Array<ArrayBuffer>, { headers });
  }

  #complete(visit: Visit, response: Response): MaybePromise<Response> {
    const { request, method } = visit;
    const { headers } = response;
    const { options, replies } = this.#deps;
    const type = headers.get('content-type');
    const isRead = method === 'GET' || method === 'HEAD';
    this.#setHeaders(visit, headers);
    if (options.http.corsOrigins.length > 0) corsHeaders(request, headers, options.http.corsOrigins);
    // Core's REST interface has the content type of Core.
    const isOurs = visit.shape === 'rest' && !visit.path.startsWith('/rest/');
    if (isOurs && type?.startsWith('application/json')) headers.set('content-type', JSON_TYPE);
    if (!headers.has('cache-control'))
      headers.set('cache-control', isRead && response.status < 300 ? 'private, no-cache' : 'no-store');
    const etag = headers.get('etag');
    if (isRead && response.status === 200 && etag && etagMatches(request.headers.get('if-none-match'), etag)) {
      headers.delete('content-type');
      this.#record(visit, 304);
      this.#drop(response);
      return new Response(null, { status: 304, headers });
    }
    const isStream = type === EVENT_STREAM && method !== 'HEAD';
    if (isStream) this.#keepStreamOpen(visit);
    this.#record(visit, response.status, isStream);
    if (method === 'HEAD') this.#drop(response);
    return compressed(request, response, type, (bytes) =>
      replies.body(bytes, { owner: ownerOf(visit), signal: request.signal }),
    );
  }

  #setHeaders({ requestId, bucket }: Visit, headers: Headers): void {
    headers.set('x-request-id', requestId);
    for (const [name, value] of Object.entries(COMMON_HEADERS)) headers.set(name, value);
    this.#setChainHeaders(headers);
    if (bucket) setLimit(headers, bucket);
  }

  #setChainHeaders(headers: Headers): void {
    const tip = this.#deps.tip();
    if (!tip) return;
    // A reply that was made from a snapshot already names its tip.
    if (!headers.has('x-chain-height')) {
      headers.set('x-chain-height', String(tip.height));
      headers.set('x-chain-hash', tip.hash);
    }
    if (this.#deps.syncing()) headers.set('x-node-syncing', '1');
  }

  /** Heartbeats keep a stream open, unless the next step of the runtime may end it however short ago one was sent. */
  #keepStreamOpen({ request, server }: Visit): void {
    const { idleTimeout } = this.#deps.options.http;
    if (idleTimeout > 0 && idleTimeout < LEAST_STREAM_TIMEOUT) server.timeout?.(request, LEAST_STREAM_TIMEOUT);
  }

  /** An unsent body no longer counts. */
  #drop(response: Response): void {
    const isStream = response.headers.get('content-type') === EVENT_STREAM;
    if (isStream || this.#deps.replies.unsent > 0) void response.body?.cancel();
  }

  #record(visit: Visit, status: number, isStream = false): void {
    if (visit.isRehearsal) return;
    const { method, entry, startedAt, visitor, principal } = visit;
    const now = performance.now();
    if (visitor) {
      if (principal !== ANONYMOUS) visitor.keyed = true;
      // A WebSocket or a stream of events remains a running request of its connection.
      if (status !== 101 && !isStream) ended(visitor, now);
    }
    if (visit.route?.access === 'admin') recordAdminRequest(this.#deps, visit, status);
    const route = visit.isSocket ? SOCKET_PATH : (entry?.template ?? 'unmatched');
    this.#deps.metrics.http(route, method, status, (now - startedAt) / 1000);
    if (this.#deps.log.enabled('debug')) {
      const ms = Math.round((now - startedAt) * 1000) / 1000;
      this.#deps.log.debug('request', { ...requestFields(visit), method, route, status, ms });
    }
  }
}

function setLimit(headers: Headers, bucket: RateBucket): void {
  headers.set('ratelimit-limit', String(bucket.rate.burst));
  headers.set('ratelimit-remaining', String(bucket.remaining));
  headers.set('ratelimit-reset', String(bucket.resetAfter));
}
