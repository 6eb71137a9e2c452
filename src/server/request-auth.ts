import type { Authentication, Authenticator, AuthRefusal } from '../auth/authenticator.ts';
import { type RateBucket, type RateBuckets, RateTable } from '../auth/rate-limits.ts';
import type { Call, RateUse } from '../http/call.ts';
import { fail } from '../http/errors.ts';
import type { ApiOptions } from '../http/options.ts';
import { ANONYMOUS, type Principal } from '../http/principal.ts';
import { hasScope, type Scope } from '../http/scopes.ts';
import type { Clock } from '../util/clock.ts';
import { limitKey } from '../util/ip-address.ts';
import type { MaybePromise } from '../util/maybe-promise.ts';
import { carriesSocketCredential } from '../ws/upgrade.ts';
import type { ApiMetrics } from './ops/metrics.ts';
import type { Route } from './route-rules.ts';
import type { Visit } from './visit.ts';

export interface RequestAuthDependencies {
  readonly options: ApiOptions;
  readonly clock: Clock;
  readonly metrics: Pick<ApiMetrics, 'rateLimited'>;
  readonly auth: Authenticator;
  /** The buckets of all fronts; null with one front. */
  readonly sharedBuckets: RateBuckets | null;
}

/** The credentials of HTTP requests, and the rate limits that they are charged to. */
export class RequestAuth {
  readonly #deps: RequestAuthDependencies;
  readonly #publicBucket: (address: string) => RateBucket | null;

  constructor(deps: RequestAuthDependencies) {
    this.#deps = deps;
    this.#publicBucket = publicBuckets(deps);
  }

  /** Sets the principal of the visit, whose route has been found. Returns the reason of a refusal, or null. */
  authenticate(visit: Visit): MaybePromise<AuthRefusal | null> {
    const { route, entry, client, authorization, session } = visit;
    const access = route?.access ?? entry?.access ?? null;
    const required = needsCredential(visit);
    // A login needs no session, and must not fail since the browser still has the cookie of another one.
    const hasSession = session !== null && (required || isSafe(visit));
    if (!required && (access !== 'public' || (authorization === null && !hasSession))) return null;
    const basicClient = access === 'rpc' ? client : null;
    const authentication = hasSession
      ? this.#deps.auth.authenticateSession(session)
      : this.#deps.auth.authenticate(authorization, visit, basicClient);
    if (authentication instanceof Promise)
      return authentication.then((result) => this.#setPrincipal(visit, result, required));
    return this.#setPrincipal(visit, authentication, required);
  }

  #setPrincipal(visit: Visit, result: Authentication, required: boolean): AuthRefusal | null {
    if (result.ok) {
      visit.principal = result.principal;
      visit.bucket = result.bucket;
      return null;
    }
    if (result.error.failure === 'rate_limited') this.#deps.metrics.rateLimited('auth');
    return required ? result : null;
  }

  /** Sets the rate limit of a client without a key on a public route. */
  limitPublic(visit: Visit): void {
    if (visit.route?.access !== 'public' || visit.principal !== ANONYMOUS) return;
    if (!this.#deps.options.limits.publicRateOnLoopback && visit.client.isLocal()) return;
    visit.bucket = this.#publicBucket(limitKey(visit.client.ip));
  }

  /** Returns the request as its handler sees it. */
  callOf(visit: Visit): Call {
    if (visit.visitor && visit.principal !== ANONYMOUS) visit.visitor.keyed = true;
    return new VisitCall(visit, this.#deps.metrics);
  }
}

class VisitCall implements Call {
  readonly #visit: Visit;
  readonly #metrics: RequestAuthDependencies['metrics'];

  constructor(visit: Visit, metrics: RequestAuthDependencies['metrics']) {
    this.#visit = visit;
    this.#metrics = metrics;
  }

  get requestId(): string {
    return this.#visit.requestId;
  }

  get principal(): Principal {
    return this.#visit.principal;
  }

  get ip(): string {
    return this.#visit.ip;
  }

  get rate(): RateUse | null {
    const { bucket } = this.#visit;
    return bucket && { ...bucket.rate, remaining: bucket.remaining, resetAfter: bucket.resetAfter };
  }

  require(scope: Scope): void {
    checkScope(this.principal, scope);
  }

  charge(cost: number): void {
    const { bucket, principal } = this.#visit;
    if (!bucket || cost <= 0 || bucket.consume(cost)) return;
    const scope = principal === ANONYMOUS ? 'ip' : 'key';
    this.#metrics.rateLimited(scope);
    fail('rate_limited', 'too many requests', { scope, retryAfter: bucket.retryAfter(cost) });
  }
}

/**
 * Returns the function that finds the bucket of an address without a key, or null where the options set no limit. Buckets
 * are full again when the rate changes.
 */
function publicBuckets({
  options,
  clock,
  sharedBuckets,
}: RequestAuthDependencies): (address: string) => RateBucket | null {
  let table: RateTable | null = null;
  return (address) => {
    const { publicRate } = options.limits;
    if (!publicRate) return null;
    if (sharedBuckets) return sharedBuckets.bucket(address, publicRate, clock);
    if (table?.rate !== publicRate) table = new RateTable(publicRate, clock);
    return table.bucket(address);
  };
}

/** Whether a request only reads. */
export function isSafe({ method }: Pick<Visit, 'method'>): boolean {
  return method === 'GET' || method === 'HEAD';
}

/**
 * Whether the request carries a credential that a client adds on purpose, valid or not. The cookie of a session is none:
 * the browser adds it to requests of every page. Preflights are never authenticated.
 */
export function carriesCredential({ request, method, authorization, isSocket }: Visit): boolean {
  if (method === 'OPTIONS') return false;
  return isSocket ? carriesSocketCredential(request) : authorization !== null;
}

/** Whether the request is refused without valid credentials. Its route has been found. */
export function needsCredential({ route, entry, path }: Visit): boolean {
  const access = route?.access ?? entry?.access ?? null;
  // Without valid credentials, unknown paths under /api are answered like known ones.
  return access === null ? path === '/api' || path.startsWith('/api/') : needsKey(access, route !== null);
}

/** A wrong method on an open or a JSON-RPC path is reported without credentials, since its existence is no secret. */
function needsKey(access: Route['access'], methodKnown: boolean): boolean {
  return access !== 'open' && access !== 'public' && (methodKnown || access !== 'rpc');
}

/** Throws ApiError where the caller may not use a route with this access. */
export function checkAccess(visit: Visit, access: Scope | 'session'): void {
  const { principal } = visit;
  if (access !== 'session') {
    if (access === 'admin' && principal.readsAdmin && isSafe(visit)) return;
    checkScope(principal, access);
  } else if (principal.kind !== 'session')
    fail('missing_credentials', 'this needs a session: send a code of obverse login to POST /api/session');
}

/** Throws ApiError `insufficient_scope`. */
function checkScope({ scopes }: Principal, required: Scope): void {
  if (!hasScope(scopes, required)) fail('insufficient_scope', `this needs the scope ${required}`, { required });
}
