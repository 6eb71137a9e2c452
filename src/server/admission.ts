import type { AuthRefusal } from '../auth/authenticator.ts';
import { ApiError, fail } from '../http/errors.ts';
import { invalid } from '../http/input.ts';
import { requireAddress } from '../http/known-address.ts';
import type { ApiOptions } from '../http/options.ts';
import { requireOwnOrigin } from '../http/own-origin.ts';
import { ownerOf } from '../http/owner.ts';
import { ANONYMOUS } from '../http/principal.ts';
import { isCsrfToken } from '../http/session-cookie.ts';
import { mayCallAny } from '../rpc/methods/may-call.ts';
import type { MaybePromise } from '../util/maybe-promise.ts';
import { allowedOrigin } from './cors.ts';
import type { HostPolicy } from './hosts.ts';
import type { ParallelRequests } from './parallel-requests.ts';
import { carriesCredential, checkAccess, isSafe, needsCredential, type RequestAuth } from './request-auth.ts';
import type { Route, RouteRules } from './route-rules.ts';
import type { Visit } from './visit.ts';

export type Phase = 'starting' | 'live' | 'stopping';

export interface AdmissionDependencies {
  readonly options: ApiOptions;
  readonly hosts: HostPolicy;
  /** Limit on requests with short bodies, per principal. */
  readonly parallel: ParallelRequests;
  /**
   * Limit on requests with bodies of a mebibyte or more, or of unknown length. These bodies stay in memory until the
   * answer.
   */
  readonly longBodies: ParallelRequests;
  phase(): Phase;
  /** Returns a promise where the client of a request has seen a later state of the chain than this server. */
  awaitState?(request: Request): Promise<void> | null;
}

const MIB = 1024 ** 2;
/** Probes address a server by any name that they find it under. */
const ANY_HOST_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

/**
 * The checks that stand before the parameters of a request, in an order that is part of the contract: Host of a request
 * without a credential, length of the URL, start-up, size of the body, credentials, Host of a request that they did not
 * admit, page of a request with a session, rate, route and method, scope. All of them throw ApiError.
 */
export class Admission {
  readonly #deps: AdmissionDependencies;
  readonly #auth: RequestAuth;
  readonly #rules: RouteRules;

  constructor(deps: AdmissionDependencies, auth: RequestAuth, rules: RouteRules) {
    this.#deps = deps;
    this.#auth = auth;
    this.#rules = rules;
  }

  /**
   * Runs when the request arrives, before Elysia does: refusals of requests without a credential are the most frequent
   * ones, so they must be the cheapest.
   */
  checkArrival(visit: Visit): void {
    const { method, path } = visit;
    const hasCredential = carriesCredential(visit);
    if (!hasCredential) {
      this.#setEntry(visit, this.#rules.find(method, path));
      this.#checkHost(visit);
    }
    if (visit.target.length > this.#deps.options.limits.urlBytes) fail('invalid_request', 'the URL is too long');
    if (hasCredential || visit.isSocket || method === 'OPTIONS') return;
    // The checks that come before the credentials cannot fail here.
    const isNext = this.#deps.phase() === 'live' && visit.contentLength === null;
    if (isNext && visit.session === null && needsCredential(visit)) this.#authenticateNow(visit);
  }

  /** Sets the route that Elysia has found by its pattern, and checks what does not need credentials. */
  checkRoute(visit: Visit, pattern: string): void {
    this.#setEntry(visit, this.#rules.entry(pattern));
    visit.checked = true;
    if (visit.shape === 'rpc' && this.#deps.phase() === 'starting') return;
    const { route, contentLength: length } = visit;
    this.#checkPhase(route);
    if (length !== null && route && Number(length) > route.bodyLimit) tooLarge(route.bodyLimit);
  }

  /**
   * Checks the caller and what it may do. Resolves to a request in place of `inner` where its body had to be read, and
   * to null otherwise.
   */
  checkCaller(visit: Visit, inner: Request): MaybePromise<Request | null> {
    const refusal = this.#auth.authenticate(visit);
    if (refusal instanceof Promise) return refusal.then((later) => this.#checkRefusal(later, visit, inner));
    return this.#checkRefusal(refusal, visit, inner);
  }

  #setEntry(visit: Visit, entry: Visit['entry']): void {
    visit.entry = entry;
    visit.route = entry?.methods.get(visit.method) ?? null;
  }

  /** Throws the refusal of a request without any credential, which takes no time to find. */
  #authenticateNow(visit: Visit): void {
    const refusal = this.#auth.authenticate(visit);
    if (refusal && !(refusal instanceof Promise)) throw refusal.error;
  }

  #checkRefusal(refusal: AuthRefusal | null, visit: Visit, inner: Request): MaybePromise<Request | null> {
    if (refusal) throw refusal.error;
    const { route, entry, path, contentLength: length } = visit;
    // The node may have begun to stop during the password check.
    this.#checkPhase(route);
    // A public route treats wrong credentials as none.
    if (visit.principal === ANONYMOUS) this.#checkHost(visit);
    this.#checkPage(visit);
    this.#auth.limitPublic(visit);
    const call = this.#auth.callOf(visit);
    visit.call = call;
    call.charge(1);
    if (!entry) fail('not_found', 'no such route');
    // GET on / only redirects browsers.
    const allow = path === '/' ? 'POST' : entry.allow;
    if (!route) throw new ApiError('method_not_allowed', 'method not allowed here', null, { allow });
    this.#checkAllowed(visit, route);
    if (visit.target.length > path.length) checkQuery(visit.target.slice(path.length), route);
    const mebibytes = Math.floor(Number(length) / MIB);
    call.charge(mebibytes);
    if (isChunked(inner, length)) {
      // Such a body is read whole before its size is known, so that its memory would have no owner.
      if (visit.principal === ANONYMOUS) fail('invalid_request', 'without a key, a body needs Content-Length');
      this.#hold(visit, this.#deps.longBodies);
      return readChunked(visit, inner, route);
    }
    if (mebibytes > 0) this.#hold(visit, this.#deps.longBodies);
    else if (route.access !== 'open' && !route.unlimitedTime) this.#hold(visit, this.#deps.parallel);
    // JSON-RPC calls have no deadline.
    if (route.access !== 'rpc') {
      visit.admitted = true;
      visit.onAdmitted?.();
    }
    // Probes have no limit of rates, so they must not wait, nor cause reads of the state.
    if (route.access === 'open') return null;
    return this.#deps.awaitState?.(visit.request)?.then(() => null) ?? null;
  }

  /** Counts the request until its reply is ready. Throws ApiError `rate_limited`. */
  #hold(visit: Visit, running: ParallelRequests): void {
    const owner = ownerOf(visit.call!);
    running.begin(owner);
    visit.release = () => running.end(owner);
  }

  #checkHost({ request, path }: Visit): void {
    if (!ANY_HOST_PATHS.has(path)) this.#deps.hosts.check(request);
  }

  /** The browser adds the cookie to what any page sends, so a change must come from a page that knows the token. */
  #checkPage(visit: Visit): void {
    const { request, principal, session } = visit;
    if (principal.kind !== 'session' || isSafe(visit)) return;
    requireOwnOrigin(request, this.#deps.options.http);
    if (session !== null && isCsrfToken(request.headers.get('x-csrf-token'), session)) return;
    fail('invalid_csrf_token', 'X-CSRF-Token must be the csrfToken of GET /api/session');
  }

  #checkPhase(route: Route | null): void {
    const phase = this.#deps.phase();
    if (phase === 'live' || route?.whileStarting) return;
    if (phase === 'starting') fail('warming_up', 'the node is starting');
    throw new ApiError('shutting_down', 'the node is stopping', null, { connection: 'close' });
  }

  #checkAllowed(visit: Visit, { access }: Route): void {
    const { request, principal } = visit;
    if (access === 'rpc') {
      const origin = request.headers.get('origin');
      if (origin !== null && !allowedOrigin(origin, this.#deps.options.http)) fail('origin_not_allowed');
      // Refused here, so that the body is not read.
      if (!mayCallAny(principal)) fail('insufficient_scope', 'this credential may call no method');
      return;
    }
    if (access !== 'public' && access !== 'open') checkAccess(visit, access);
    if (access === 'admin') requireAddress(visit);
  }
}

/** Reads a body of unknown length whole, up to the runtime's own limit, before its handler runs. */
async function readChunked(visit: Visit, request: Request, route: Route): Promise<Request> {
  const body = await request.arrayBuffer();
  if (body.byteLength > route.bodyLimit) tooLarge(route.bodyLimit);
  visit.call!.charge(Math.floor(body.byteLength / MIB));
  const headers = new Headers(request.headers);
  headers.delete('transfer-encoding');
  const { method, signal } = visit.request;
  return new Request(`http://localhost${visit.target}`, { method, headers, body, signal });
}

function isChunked(request: Request, length: string | null): boolean {
  return length === null && request.method !== 'GET' && request.body !== null;
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
