import type { Server } from 'bun';
import type { AuditLog } from '../auth/audit/audit-log.ts';
import type { Authenticator, AuthRefusal } from '../auth/authenticator.ts';
import type { ClientAddresses } from '../auth/client-address.ts';
import { RateTable } from '../auth/limits.ts';
import type { Call } from '../http/call.ts';
import { compressed } from '../http/compress.ts';
import { ApiError, BEARER_CHALLENGE, errorResponse, fail, JSON_TYPE, shownError } from '../http/errors.ts';
import { etagMatches } from '../http/etag.ts';
import { invalid } from '../http/input.ts';
import { limitKey } from '../http/ip.ts';
import type { ApiOptions } from '../http/options.ts';
import { ownerOf } from '../http/owner.ts';
import { ANONYMOUS, type Principal } from '../http/principal.ts';
import type { ReplyLedger } from '../http/reply-ledger.ts';
import { hasScope, type Scope } from '../http/scopes.ts';
import type { TipView } from '../queries/tip-view.ts';
import { mayCallAny } from '../rpc/engine/may-call.ts';
import { isOfCoreClient, rejectWhileStarting } from '../rpc/engine/warm-up.ts';
import type { Clock } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import { type MaybePromise, whenReady } from '../util/maybe-promise.ts';
import type { SocketData } from '../ws/connection.ts';
import { carriesSocketCredential } from '../ws/upgrade.ts';
import { recordAdminRequest } from './admin-request.ts';
import { ended, type Visitors } from './connections/visitors.ts';
import { allowedOrigin, corsHeaders, preflight } from './cors.ts';
import type { HostPolicy } from './hosts.ts';
import type { ApiMetrics } from './ops/metrics.ts';
import type { ParallelRequests } from './parallel-requests.ts';
import type { RefusalPace } from './refusal-pace.ts';
import { routedUrl, splitTarget } from './request-url.ts';
import type { Route, RouteTable } from './route-table.ts';
import type { Visit } from './visit.ts';

/** The part of Bun's server that a request needs. */
export type Upgrader = Pick<Server<SocketData>, 'requestIP' | 'upgrade'> & Partial<Pick<Server<SocketData>, 'timeout'>>;

export type Phase = 'starting' | 'live' | 'stopping';

export interface GateDependencies {
  readonly options: ApiOptions;
  readonly log: Log;
  readonly clock: Clock;
  readonly metrics: Pick<ApiMetrics, 'http' | 'rateLimited'>;
  readonly auth: Authenticator;
  readonly hosts: HostPolicy;
  readonly clients: ClientAddresses;
  readonly visitors: Visitors;
  readonly audit: Pick<AuditLog, 'record'>;
  readonly replies: ReplyLedger;
  /** Of those that are answered soon. */
  readonly parallel: ParallelRequests;
  /** Of those with a mebibyte or more, or of unknown length, whose bodies are in memory until they are answered. */
  readonly longBodies: ParallelRequests;
  readonly refusals: RefusalPace;
  readonly routes: RouteTable;
  /** Elysia. */
  readonly app: { fetch(request: Request): Response | Promise<Response> };
  phase(): Phase;
  tip(): TipView | null;
  syncing(): boolean;
  /** Answers a request for /ws: undefined once the connection is a WebSocket. */
  upgrade(request: Request, server: Upgrader, call: Call): MaybePromise<Response | undefined>;
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;
const LONG_BODY = 64 * 1024;
const MIB = 1024 ** 2;
const SOCKET_PATH = '/ws';
/** Probes address a server by whatever name they find it under. */
const ANY_HOST_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

/**
 * Everything a request meets before and after its handler. The order is part of the contract: Host of a request without
 * a credential, start-up, size of the body, credentials, Host of a request that they did not admit, rate, route and
 * method, scope; then Elysia parses, validates and answers.
 */
export class Gate {
  readonly #deps: GateDependencies;
  readonly #calls = new WeakMap<Request, Call>();
  readonly #publicRates: RateTable | null;
  readonly #idPrefix = Buffer.from(crypto.getRandomValues(new Uint8Array(5))).toString('hex');
  #requests = 0;

  constructor(deps: GateDependencies) {
    this.#deps = deps;
    const { publicRate } = deps.options.limits;
    this.#publicRates = publicRate && new RateTable(publicRate, deps.clock);
  }

  /** Who asks with this request. Throws on one that did not pass here. */
  call(request: Request): Call {
    const call = this.#calls.get(request);
    if (!call) throw new Error('a request that did not pass the gate');
    return call;
  }

  handle(request: Request, server: Upgrader): MaybePromise<Response | undefined> {
    const visit = this.#visit(request, server);
    let reply: MaybePromise<Response | undefined>;
    try {
      reply = this.#answer(visit, server);
    } catch (error) {
      reply = this.#failed(visit, error);
    }
    if (reply instanceof Promise) {
      if (visit.route?.unlimitedTime && this.#deps.phase() === 'live') reply = this.#keptOpen(visit, server, reply);
      return reply
        .catch((error: unknown) => this.#failed(visit, error))
        .then((response) => this.#finished(visit, response));
    }
    return this.#finished(visit, reply);
  }

  /** Undefined once the connection is a WebSocket. */
  #finished(visit: Visit, reply: Response | undefined): MaybePromise<Response | undefined> {
    if (reply) return reply.status === 429 ? this.#finishRefusal(visit, reply) : this.#finish(visit, reply);
    this.#record(visit, 101);
    return undefined;
  }

  /** Refusals of requests that were admitted have a pace; wrong credentials have one of their own. */
  #finishRefusal(visit: Visit, reply: Response): MaybePromise<Response> {
    if (!this.#calls.has(visit.request)) return this.#finish(visit, reply);
    const pace = this.#deps.refusals.next(ownerOf({ principal: visit.principal, ip: visit.client.ip }));
    if (pace === 'and close') reply.headers.set('connection', 'close');
    if (typeof pace === 'string') return this.#finish(visit, reply);
    return pace.then(() => this.#finish(visit, reply));
  }

  /** While a reply takes its time nothing is sent, and the connection would be closed for idling. */
  #keptOpen<R>({ request }: Visit, server: Upgrader, reply: Promise<R>): Promise<R> {
    if (Bun.peek.status(reply) !== 'pending') return reply;
    server.timeout?.(request, 0);
    return reply.finally(() => server.timeout?.(request, this.#deps.options.http.idleTimeout));
  }

  #visit(request: Request, server: Upgrader): Visit {
    const { method } = request;
    const url = routedUrl(request.url);
    const { target, path } = splitTarget(url);
    const given = request.headers.get('x-request-id');
    const peer = server.requestIP(request);
    const entry = this.#deps.routes.find(path);
    return {
      request,
      url,
      target,
      path,
      requestId:
        given !== null && REQUEST_ID.test(given) ? given : `${this.#idPrefix}-${(++this.#requests).toString(36)}`,
      client: this.#deps.clients.clientOf(peer?.address ?? '', request.headers),
      entry,
      route: entry?.methods.get(method) ?? null,
      shape: method === 'POST' && (path === '/' || path.startsWith('/wallet/')) ? 'rpc' : 'rest',
      startedAt: performance.now(),
      principal: ANONYMOUS,
      bucket: null,
      visitor: peer && this.#deps.visitors.began(peer.address, peer.port),
    };
  }

  #answer(visit: Visit, server: Upgrader): MaybePromise<Response | undefined> {
    const { request, route, entry, path } = visit;
    const isSocket = isSocketPath(path);
    if (!carriesCredential(request, isSocket)) this.#checkHost(visit);
    if (visit.target.length > this.#deps.options.limits.urlBytes) fail('invalid_request', 'the URL is too long');
    if (visit.shape === 'rpc' && this.#deps.phase() === 'starting') return rejectWhileStarting(request);
    this.#checkPhase(route);
    const length = request.headers.get('content-length');
    if (length !== null && route && Number(length) > route.bodyLimit) tooLarge(route.bodyLimit);
    if (request.method === 'OPTIONS')
      return preflight(request, isSocket ? 'GET' : (entry?.allow ?? null), this.#deps.options.http.corsOrigins);
    if (isSocket) return this.#deps.upgrade(request, server, this.#admit(visit));
    return whenReady(this.#authenticate(visit), (refusal) => {
      if (refusal) throw refusal.error;
      return this.#answerAdmitted(visit, length);
    });
  }

  #answerAdmitted(visit: Visit, length: string | null): MaybePromise<Response> {
    const { route, entry, path } = visit;
    // The node may have begun to stop while a password was checked.
    this.#checkPhase(route);
    // A public route serves wrong credentials like none.
    if (visit.principal === ANONYMOUS) this.#checkHost(visit);
    this.#limitPublic(visit);
    const call = this.#admit(visit);
    call.charge(1);
    if (!entry) fail('not_found', 'no such route');
    // GET is there only to send browsers on.
    const allow = path === '/' ? 'POST' : entry.allow;
    if (!route) throw new ApiError('method_not_allowed', 'method not allowed here', null, { allow });
    this.#checkAllowed(visit, route);
    checkQuery(visit.target.slice(path.length), route);
    const dispatch = () => this.#dispatch(visit, route, length);
    const mebibytes = Math.floor(Number(length) / MIB);
    call.charge(mebibytes);
    if (mebibytes > 0 || isChunked(visit.request, length)) return this.#deps.longBodies.run(ownerOf(call), dispatch);
    if (route.access === 'open' || route.unlimitedTime) return dispatch();
    return this.#deps.parallel.run(ownerOf(call), dispatch);
  }

  #checkHost({ request, path }: Visit): void {
    if (!ANY_HOST_PATHS.has(path)) this.#deps.hosts.check(request);
  }

  #checkPhase(route: Route | null): void {
    const phase = this.#deps.phase();
    if (phase === 'live' || route?.whileStarting) return;
    if (phase === 'starting') fail('warming_up', 'the node is starting');
    throw new ApiError('shutting_down', 'the node is stopping', null, { connection: 'close' });
  }

  /** Fills in who asks; returns why not. */
  #authenticate(visit: Visit): MaybePromise<AuthRefusal | null> {
    const { request, route, entry, path, client } = visit;
    // Unknown paths under /api are not told apart from known ones before the credentials are right.
    const access = route?.access ?? entry?.access ?? null;
    const required = access === null ? path === '/api' || path.startsWith('/api/') : needsKey(access, route !== null);
    const authorization = request.headers.get('authorization');
    if (!required && (access !== 'public' || authorization === null)) return null;
    const basicClient = access === 'rpc' ? client : null;
    const authentication = this.#deps.auth.authenticate(authorization, { ip: client.ip, request }, basicClient);
    return whenReady(authentication, (result) => {
      if (result.ok) {
        visit.principal = result.principal;
        visit.bucket = result.bucket;
        return null;
      }
      if (result.error.failure === 'rate_limited') this.#deps.metrics.rateLimited('auth');
      return required ? result : null;
    });
  }

  #limitPublic(visit: Visit): void {
    if (!this.#publicRates || visit.route?.access !== 'public' || visit.principal !== ANONYMOUS) return;
    if (!this.#deps.options.limits.publicRateOnLoopback && visit.client.isLocal()) return;
    visit.bucket = this.#publicRates.bucket(limitKey(visit.client.ip));
  }

  #admit(visit: Visit): Call {
    if (visit.visitor && visit.principal !== ANONYMOUS) visit.visitor.keyed = true;
    const { metrics } = this.#deps;
    const call: Call = {
      requestId: visit.requestId,
      get principal() {
        return visit.principal;
      },
      ip: visit.client.ip,
      require: (scope: Scope) => requireScope(visit.principal, scope),
      charge: (cost: number) => {
        const { bucket } = visit;
        if (!bucket || cost <= 0 || bucket.take(cost)) return;
        const scope = visit.principal === ANONYMOUS ? 'ip' : 'key';
        metrics.rateLimited(scope);
        fail('rate_limited', 'too many requests', { scope, retryAfter: bucket.retryAfter(cost) });
      },
    };
    this.#calls.set(visit.request, call);
    return call;
  }

  #checkAllowed({ request, principal }: Visit, { access }: Route): void {
    if (access === 'rpc') {
      const origin = request.headers.get('origin');
      if (origin !== null && !allowedOrigin(origin, this.#deps.options.http)) fail('origin_not_allowed');
      // Before its body is read.
      if (!mayCallAny(principal)) fail('insufficient_scope', 'this credential may call no method');
      return;
    }
    if (access !== 'public' && access !== 'open') requireScope(principal, access);
  }

  #dispatch(visit: Visit, route: Route, length: string | null): Response | Promise<Response> {
    const { request, url, target } = visit;
    const { app, options } = this.#deps;
    if (isChunked(request, length)) return this.#dispatchChunked(visit, route);
    let inner = request;
    if (request.method === 'HEAD')
      inner = new Request(`http://localhost${target}`, { headers: request.headers, signal: request.signal });
    else if (url !== request.url) inner = new Request(url, request);
    if (inner !== request) this.#calls.set(inner, this.call(request));
    const reply = app.fetch(inner);
    if (
      !(reply instanceof Promise) ||
      Bun.peek.status(reply) !== 'pending' ||
      route.unlimitedTime ||
      route.access === 'rpc'
    )
      return reply;
    return withDeadline(reply, options.http.requestTimeoutMs);
  }

  /** A body that does not tell its length is taken in whole, up to the runtime's own limit, before it is judged. */
  async #dispatchChunked({ request, target }: Visit, route: Route): Promise<Response> {
    const body = await request.arrayBuffer();
    if (body.byteLength > route.bodyLimit) tooLarge(route.bodyLimit);
    this.call(request).charge(Math.floor(body.byteLength / MIB));
    const headers = new Headers(request.headers);
    headers.delete('transfer-encoding');
    const inner = new Request(`http://localhost${target}`, {
      method: request.method,
      headers,
      body,
      signal: request.signal,
    });
    this.#calls.set(inner, this.call(request));
    return this.#deps.app.fetch(inner);
  }

  #failed({ request, requestId, shape, path }: Visit, error: unknown): Response {
    const shown = shownError(error);
    if (!shown) this.#deps.log.error('request failed', { requestId, path, error });
    const response = errorResponse(shown ?? new ApiError('internal_error', 'internal error'), requestId, shape);
    if (response.status === 401 && !this.#deps.options.auth.basic)
      response.headers.set('www-authenticate', BEARER_CHALLENGE);
    // What is left of a long body is not worth waiting for.
    if (Number(request.headers.get('content-length')) > LONG_BODY) response.headers.set('connection', 'close');
    // Clients of Bitcoin Core wait where it is said with Core's status, and give up on 503.
    if (shape === 'rpc' && shown?.failure === 'warming_up' && isOfCoreClient(request))
      return new Response(response.body, { status: 500, headers: response.headers });
    return response;
  }

  #finish(visit: Visit, response: Response): Response | Promise<Response> {
    const { request } = visit;
    const { headers } = response;
    const { options } = this.#deps;
    headers.set('x-request-id', visit.requestId);
    headers.set('x-api-version', '1');
    headers.set('x-content-type-options', 'nosniff');
    this.#setChainHeaders(headers);
    if (visit.bucket) {
      headers.set('ratelimit-limit', String(visit.bucket.rate.burst));
      headers.set('ratelimit-remaining', String(visit.bucket.remaining));
      headers.set('ratelimit-reset', String(visit.bucket.resetAfter));
    }
    if (options.http.corsOrigins.length > 0) corsHeaders(request, headers, options.http.corsOrigins);
    const type = headers.get('content-type');
    if (visit.shape === 'rest' && type?.startsWith('application/json')) headers.set('content-type', JSON_TYPE);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!headers.has('cache-control'))
      headers.set('cache-control', isRead && response.status < 300 ? 'private, no-cache' : 'no-store');
    const etag = headers.get('etag');
    if (isRead && response.status === 200 && etag && etagMatches(request.headers.get('if-none-match'), etag)) {
      headers.delete('content-type');
      this.#record(visit, 304);
      this.#drop(response);
      return new Response(null, { status: 304, headers });
    }
    this.#record(visit, response.status);
    if (request.method === 'HEAD') this.#drop(response);
    const owner = () => ownerOf({ principal: visit.principal, ip: visit.client.ip });
    return compressed(request, response, type, (bytes) =>
      this.#deps.replies.body(bytes, { owner: owner(), signal: request.signal }),
    );
  }

  /** A body that is not sent is not counted any more. */
  #drop(response: Response): void {
    if (this.#deps.replies.unsent > 0) void response.body?.cancel();
  }

  #setChainHeaders(headers: Headers): void {
    const tip = this.#deps.tip();
    if (!tip) return;
    // A reply made from a snapshot has named its tip already.
    if (!headers.has('x-chain-height')) {
      headers.set('x-chain-height', String(tip.height));
      headers.set('x-chain-hash', tip.hash);
    }
    if (this.#deps.syncing()) headers.set('x-node-syncing', '1');
  }

  #record(visit: Visit, status: number): void {
    const { request, path, entry, startedAt, visitor, principal } = visit;
    if (visitor) {
      if (principal !== ANONYMOUS) visitor.keyed = true;
      // A WebSocket goes on.
      if (status !== 101) ended(visitor);
    }
    if (visit.route?.access === 'admin') recordAdminRequest(this.#deps, visit, status);
    const route = isSocketPath(path) ? SOCKET_PATH : (entry?.template ?? 'unmatched');
    this.#deps.metrics.http(route, request.method, status, (performance.now() - startedAt) / 1000);
  }
}

function isSocketPath(path: string): boolean {
  return path === SOCKET_PATH || path === `${SOCKET_PATH}/`;
}

function isChunked(request: Request, length: string | null): boolean {
  return length === null && request.method !== 'GET' && request.body !== null;
}

/** Whether there is something to authenticate, right or wrong. Preflights are never authenticated. */
function carriesCredential(request: Request, isSocket: boolean): boolean {
  if (request.method === 'OPTIONS') return false;
  return isSocket ? carriesSocketCredential(request) : request.headers.get('authorization') !== null;
}

/** A wrong method on an open or a JSON-RPC path is told without credentials: there is nothing to hide. */
function needsKey(access: Route['access'], methodKnown: boolean): boolean {
  return access !== 'open' && access !== 'public' && (methodKnown || access !== 'rpc');
}

function requireScope({ scopes }: Principal, required: Scope): void {
  if (!hasScope(scopes, required)) fail('insufficient_scope', `this needs the scope ${required}`, { required });
}

/** One of two values would be taken and the other passed over. */
function checkQuery(query: string, { query: names }: Route): void {
  if (!query.includes('&') || names.length === 0) return;
  const given = new URLSearchParams(query);
  const twice = names.find((name) => given.getAll(name).length > 1);
  if (twice !== undefined) invalid(twice, 'is given twice');
}

function tooLarge(limit: number): never {
  fail('payload_too_large', `the body is larger than ${limit} bytes`, { limit });
}

function withDeadline(reply: Promise<Response>, timeoutMs: number): Promise<Response> {
  if (timeoutMs === 0) return reply;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new ApiError('overloaded', 'the answer takes too long')), timeoutMs);
    reply.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
