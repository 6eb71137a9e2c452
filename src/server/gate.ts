import { status } from 'elysia';
import type { AuditLog } from '../auth/audit/audit-log.ts';
import type { Authenticator, AuthRefusal } from '../auth/authenticator.ts';
import type { ClientAddresses } from '../auth/client-address.ts';
import { RateTable } from '../auth/rate-limits.ts';
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
import { carriesSocketCredential } from '../ws/upgrade.ts';
import { recordAdminRequest } from './admin-request.ts';
import { ended, type Visitors } from './connections/visitors.ts';
import { allowedOrigin, corsHeaders, preflight } from './cors.ts';
import type { HostPolicy } from './hosts.ts';
import type { ApiMetrics } from './ops/metrics.ts';
import type { ParallelRequests } from './parallel-requests.ts';
import type { RefusalPace } from './refusal-pace.ts';
import { routedUrl, splitTarget } from './request-url.ts';
import { type DeclaredRoute, type Route, RouteRules } from './route-rules.ts';
import type { Upgrader, Visit } from './visit.ts';

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
  /** Limit on requests with short bodies, per principal. */
  readonly parallel: ParallelRequests;
  /**
   * Limit on requests with bodies of a mebibyte or more, or of unknown length. These bodies stay in memory until the
   * answer.
   */
  readonly longBodies: ParallelRequests;
  readonly refusals: RefusalPace;
  phase(): Phase;
  tip(): TipView | null;
  syncing(): boolean;
  /** Upgrades a request for /ws to a WebSocket. Throws ApiError. */
  upgrade(request: Request, server: Upgrader, call: Call): MaybePromise<undefined>;
}

/** The Elysia app, as the gate calls it. */
export interface App {
  readonly routes: readonly DeclaredRoute[];
  fetch(request: Request): Response | Promise<Response>;
}

/** The result of Elysia's hook: nothing, a reply in place of the route's, or another request for the handler. */
export type Admission = undefined | typeof REJECTED | { readonly request: Request };

/** Ends a request within Elysia. The reply that is sent is kept in the visit, so that Elysia need not copy it. */
const REJECTED = status(500, '');
const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;
const LONG_BODY = 64 * 1024;
const MIB = 1024 ** 2;
const SOCKET_PATH = '/ws';
/** Probes address a server by any name that they find it under. */
const ANY_HOST_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

/**
 * Every request from its arrival to its reply. Elysia finds the route; its hook `admit` checks what stands before the
 * parameters, in an order that is part of the contract: Host of a request without a credential, start-up, size of the
 * body, credentials, Host of a request that they did not admit, rate, route and method, scope. Then Elysia validates and
 * answers.
 */
export class Gate {
  readonly #deps: GateDependencies;
  readonly #visits = new WeakMap<Request, Visit>();
  readonly #publicRates: RateTable | null;
  readonly #idPrefix = Buffer.from(crypto.getRandomValues(new Uint8Array(5))).toString('hex');
  #requests = 0;
  #app: App | null = null;
  #rules = new RouteRules([]);

  constructor(deps: GateDependencies) {
    this.#deps = deps;
    const { publicRate } = deps.options.limits;
    this.#publicRates = publicRate && new RateTable(publicRate, deps.clock);
  }

  /** Sets the app whose hook calls `admit`. Call it once. */
  open(app: App): void {
    this.#app = app;
    this.#rules = new RouteRules(app.routes);
  }

  /** Returns the caller of a request. Throws if the request was not admitted. */
  call(request: Request): Call {
    const call = this.#visits.get(request)?.call;
    if (!call) throw new Error('a request that was not admitted');
    return call;
  }

  /** Returns undefined once the connection is a WebSocket. */
  handle(request: Request, server: Upgrader, isRehearsal = false): MaybePromise<Response | undefined> {
    const visit = this.#visit(request, server, isRehearsal);
    let reply: MaybePromise<Response>;
    try {
      const inner = routedRequest(visit);
      this.#visits.set(inner, visit);
      reply = this.#app!.fetch(inner);
    } catch (error) {
      reply = this.#failed(visit, error);
    }
    // Elysia's own reply to a rejected request is dropped.
    if (visit.rejection) return this.#finished(visit, visit.rejection);
    if (!(reply instanceof Promise)) return this.#finished(visit, reply);
    if (Bun.peek.status(reply) === 'pending')
      if (visit.route?.unlimitedTime) {
        if (this.#deps.phase() === 'live') reply = this.#keptOpen(visit, server, reply);
      } else reply = withDeadline(visit, reply, this.#deps.options.http.requestTimeoutMs);
    return reply
      .catch((error: unknown) => this.#failed(visit, error))
      .then((response) => this.#finished(visit, visit.rejection ?? response));
  }

  /** Upgrades a request for /ws to a WebSocket, after which no reply is sent. Throws ApiError. */
  upgrade(request: Request): MaybePromise<undefined> {
    const visit = this.#visits.get(request)!;
    return whenReady(this.#deps.upgrade(visit.request, visit.server, visit.call!), () => {
      visit.upgraded = true;
      return undefined;
    });
  }

  /** Answers a path with a method that has no route. Only preflights reach it. */
  preflight(request: Request): Response {
    const visit = this.#visits.get(request)!;
    const allow = isSocketPath(visit.path) ? 'GET' : (visit.entry?.allow ?? null);
    return preflight(visit.request, allow, this.#deps.options.http.corsOrigins);
  }

  /** Elysia's hook for every request, before its parameters are validated. `pattern` is the path of the route. */
  admit(request: Request, pattern: string): MaybePromise<Admission> {
    const visit = this.#visits.get(request)!;
    try {
      const admission = this.#check(visit, request, pattern);
      if (!(admission instanceof Promise)) return admission;
      return admission.catch((error: unknown) => this.#reject(visit, this.#failed(visit, error)));
    } catch (error) {
      return this.#reject(visit, this.#failed(visit, error));
    }
  }

  #reject(visit: Visit, reply: Response): typeof REJECTED {
    visit.rejection = reply;
    return REJECTED;
  }

  /** Returns undefined once the connection is a WebSocket. */
  #finished(visit: Visit, reply: Response): MaybePromise<Response | undefined> {
    visit.release?.();
    // A route that bypasses the hook would be open to every client.
    if (!visit.checked && reply.ok)
      return this.#finish(visit, this.#failed(visit, new Error('a reply without any check')));
    if (visit.upgraded) {
      this.#record(visit, 101);
      return undefined;
    }
    return reply.status === 429 ? this.#finishRefusal(visit, reply) : this.#finish(visit, reply);
  }

  /** Refusals of admitted requests are paced here; wrong credentials have a pace of their own. */
  #finishRefusal(visit: Visit, reply: Response): MaybePromise<Response> {
    if (!visit.call) return this.#finish(visit, reply);
    const pace = this.#deps.refusals.next(ownerOf({ principal: visit.principal, ip: visit.client.ip }));
    if (pace === 'and close') reply.headers.set('connection', 'close');
    if (typeof pace === 'string') return this.#finish(visit, reply);
    return pace.then(() => this.#finish(visit, reply));
  }

  /**
   * The runtime closes a connection that is idle while its reply is prepared, so the idle timeout is off until then.
   */
  #keptOpen<R>({ request }: Visit, server: Upgrader, reply: Promise<R>): Promise<R> {
    if (Bun.peek.status(reply) !== 'pending') return reply;
    server.timeout?.(request, 0);
    return reply.finally(() => server.timeout?.(request, this.#deps.options.http.idleTimeout));
  }

  #visit(request: Request, server: Upgrader, isRehearsal: boolean): Visit {
    const { method } = request;
    const url = routedUrl(request.url);
    const { target, path } = splitTarget(url);
    const given = request.headers.get('x-request-id');
    const peer = server.requestIP(request);
    return {
      request,
      url,
      target,
      path,
      requestId:
        given !== null && REQUEST_ID.test(given) ? given : `${this.#idPrefix}-${(++this.#requests).toString(36)}`,
      client: this.#deps.clients.clientOf(peer?.address ?? '', request.headers),
      entry: null,
      route: null,
      checked: false,
      rejection: null,
      shape: method === 'POST' && (path === '/' || path.startsWith('/wallet/')) ? 'rpc' : 'rest',
      startedAt: performance.now(),
      server,
      call: null,
      admitted: false,
      onAdmitted: null,
      upgraded: false,
      isRehearsal,
      release: null,
      principal: ANONYMOUS,
      bucket: null,
      visitor: peer && this.#deps.visitors.began(peer.address, peer.port),
    };
  }

  /** Returns the reply to a request that the checks reject; undefined if they admit it. */
  async rejection(request: Request, pattern: string): Promise<Response | undefined> {
    await this.admit(request, pattern);
    return this.#visits.get(request)!.rejection ?? undefined;
  }

  #check(visit: Visit, inner: Request, pattern: string): MaybePromise<Admission> {
    const { request, path } = visit;
    const entry = this.#rules.entry(pattern);
    const route = entry?.methods.get(request.method) ?? null;
    visit.entry = entry;
    visit.route = route;
    visit.checked = true;
    const isSocket = isSocketPath(path);
    if (!carriesCredential(request, isSocket)) this.#checkHost(visit);
    if (visit.target.length > this.#deps.options.limits.urlBytes) fail('invalid_request', 'the URL is too long');
    if (visit.shape === 'rpc' && this.#deps.phase() === 'starting')
      return rejectWhileStarting(inner).then((reply) => this.#reject(visit, reply));
    this.#checkPhase(route);
    const length = request.headers.get('content-length');
    if (length !== null && route && Number(length) > route.bodyLimit) tooLarge(route.bodyLimit);
    if (request.method === 'OPTIONS') return undefined;
    if (isSocket) {
      visit.call = this.#admit(visit);
      return undefined;
    }
    return whenReady(this.#authenticate(visit), (refusal) => {
      if (refusal) throw refusal.error;
      return this.#checkAuthenticated(visit, inner, length);
    });
  }

  #checkAuthenticated(visit: Visit, inner: Request, length: string | null): MaybePromise<Admission> {
    const { route, entry, path } = visit;
    // The node may have begun to stop during the password check.
    this.#checkPhase(route);
    // A public route treats wrong credentials as none.
    if (visit.principal === ANONYMOUS) this.#checkHost(visit);
    this.#limitPublic(visit);
    const call = this.#admit(visit);
    visit.call = call;
    call.charge(1);
    if (!entry) fail('not_found', 'no such route');
    // GET on / only redirects browsers.
    const allow = path === '/' ? 'POST' : entry.allow;
    if (!route) throw new ApiError('method_not_allowed', 'method not allowed here', null, { allow });
    this.#checkAllowed(visit, route);
    checkQuery(visit.target.slice(path.length), route);
    const mebibytes = Math.floor(Number(length) / MIB);
    call.charge(mebibytes);
    if (isChunked(inner, length)) {
      this.#hold(visit, this.#deps.longBodies);
      return this.#readChunked(visit, inner, route);
    }
    if (mebibytes > 0) this.#hold(visit, this.#deps.longBodies);
    else if (route.access !== 'open' && !route.unlimitedTime) this.#hold(visit, this.#deps.parallel);
    // JSON-RPC calls have no deadline.
    if (route.access !== 'rpc') {
      visit.admitted = true;
      visit.onAdmitted?.();
    }
    return undefined;
  }

  /** Counts the request until its reply is ready. Throws ApiError `rate_limited`. */
  #hold(visit: Visit, running: ParallelRequests): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    void running.run(ownerOf(visit.call!), () => promise);
    visit.release = resolve;
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

  /** Sets the principal of the visit. Returns the reason of a refusal, or null. */
  #authenticate(visit: Visit): MaybePromise<AuthRefusal | null> {
    const { request, route, entry, path, client } = visit;
    // Without valid credentials, unknown paths under /api are answered like known ones.
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
        if (!bucket || cost <= 0 || bucket.consume(cost)) return;
        const scope = visit.principal === ANONYMOUS ? 'ip' : 'key';
        metrics.rateLimited(scope);
        fail('rate_limited', 'too many requests', { scope, retryAfter: bucket.retryAfter(cost) });
      },
    };
    return call;
  }

  #checkAllowed({ request, principal }: Visit, { access }: Route): void {
    if (access === 'rpc') {
      const origin = request.headers.get('origin');
      if (origin !== null && !allowedOrigin(origin, this.#deps.options.http)) fail('origin_not_allowed');
      // Refused here, so that the body is not read.
      if (!mayCallAny(principal)) fail('insufficient_scope', 'this credential may call no method');
      return;
    }
    if (access !== 'public' && access !== 'open') requireScope(principal, access);
  }

  /** Reads a body of unknown length whole, up to the runtime's own limit, before its handler runs. */
  async #readChunked(visit: Visit, request: Request, route: Route): Promise<Admission> {
    const body = await request.arrayBuffer();
    if (body.byteLength > route.bodyLimit) tooLarge(route.bodyLimit);
    visit.call!.charge(Math.floor(body.byteLength / MIB));
    const headers = new Headers(request.headers);
    headers.delete('transfer-encoding');
    const { method, signal } = visit.request;
    const inner = new Request(`http://localhost${visit.target}`, { method, headers, body, signal });
    this.#visits.set(inner, visit);
    return { request: inner };
  }

  #failed({ request, requestId, shape, path }: Visit, error: unknown): Response {
    const shown = shownError(error);
    if (!shown) this.#deps.log.error('request failed', { requestId, path, error });
    const response = errorResponse(shown ?? new ApiError('internal_error', 'internal error'), requestId, shape);
    if (response.status === 401 && !this.#deps.options.auth.basic)
      response.headers.set('www-authenticate', BEARER_CHALLENGE);
    // The connection closes, since the rest of a long body is not worth reading.
    if (Number(request.headers.get('content-length')) > LONG_BODY) response.headers.set('connection', 'close');
    // Clients of Bitcoin Core wait during warm-up only if the reply has Core's status, and give up on 503.
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

  /** An unsent body no longer counts. */
  #drop(response: Response): void {
    if (this.#deps.replies.unsent > 0) void response.body?.cancel();
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

  #record(visit: Visit, status: number): void {
    if (visit.isRehearsal) return;
    const { request, path, entry, startedAt, visitor, principal } = visit;
    if (visitor) {
      if (principal !== ANONYMOUS) visitor.keyed = true;
      // A WebSocket remains a running request of its connection.
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

/** Whether the request carries a credential, valid or not. Preflights are never authenticated. */
function carriesCredential(request: Request, isSocket: boolean): boolean {
  if (request.method === 'OPTIONS') return false;
  return isSocket ? carriesSocketCredential(request) : request.headers.get('authorization') !== null;
}

/** A wrong method on an open or a JSON-RPC path is reported without credentials, since its existence is no secret. */
function needsKey(access: Route['access'], methodKnown: boolean): boolean {
  return access !== 'open' && access !== 'public' && (methodKnown || access !== 'rpc');
}

function requireScope({ scopes }: Principal, required: Scope): void {
  if (!hasScope(scopes, required)) fail('insufficient_scope', `this needs the scope ${required}`, { required });
}

/** Handlers read one value per name, so a second one would be ignored silently. */
function checkQuery(query: string, { query: names }: Route): void {
  if (!query.includes('&') || names.length === 0) return;
  const given = new URLSearchParams(query);
  const twice = names.find((name) => given.getAll(name).length > 1);
  if (twice !== undefined) invalid(twice, 'is given twice');
}

function tooLarge(limit: number): never {
  fail('payload_too_large', `the body is larger than ${limit} bytes`, { limit });
}

/** The deadline starts when the request is admitted. Until then the request waits for the password check. */
function withDeadline(visit: Visit, reply: Promise<Response>, timeoutMs: number): Promise<Response> {
  if (timeoutMs === 0) return reply;
  return new Promise((resolve, reject) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    visit.onAdmitted = () => {
      timer = setTimeout(() => reject(new ApiError('overloaded', 'the request timed out')), timeoutMs);
    };
    if (visit.admitted) visit.onAdmitted();
    reply.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Returns the request as Elysia routes it. HEAD is routed as GET, and Bun omits the body of the reply. */
function routedRequest({ request, url, target }: Visit): Request {
  if (request.method === 'HEAD')
    return new Request(`http://localhost${target}`, { headers: request.headers, signal: request.signal });
  return url === request.url ? request : new Request(url, request);
}
