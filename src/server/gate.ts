import { status } from 'elysia';
import type { ClientAddresses } from '../auth/client-address.ts';
import type { Call } from '../http/call.ts';
import type { DirectRoute } from '../http/direct-route.ts';
import { ApiError, JSON_TYPE } from '../http/errors.ts';
import { PlainReply, type ReplyKind } from '../http/plain-reply.ts';
import { rejectWhileStarting } from '../rpc/engine/warm-up.ts';
import { type MaybePromise, whenReady } from '../util/maybe-promise.ts';
import { beginServing } from '../util/serving.ts';
import { Admission, type AdmissionDependencies } from './admission.ts';
import type { Visitors } from './connections/visitors.ts';
import { preflight } from './cors.ts';
import { DirectRoutes, type FoundDirectly } from './direct-routes.ts';
import { handlerError } from './error-boundary.ts';
import { type ReplyDependencies, ReplyFinisher } from './reply-finisher.ts';
import { RequestAuth, type RequestAuthDependencies } from './request-auth.ts';
import { type RoutedApp, RouteRules } from './route-rules.ts';
import { SlowReplies } from './slow-replies.ts';
import { type Upgrader, type Visit, Visits } from './visit.ts';

export interface GateDependencies extends AdmissionDependencies, RequestAuthDependencies, ReplyDependencies {
  readonly metrics: RequestAuthDependencies['metrics'] & ReplyDependencies['metrics'];
  readonly clients: ClientAddresses;
  readonly visitors: Visitors;
  /** Upgrades a request for /ws to a WebSocket. Throws ApiError. */
  upgrade(request: Request, server: Upgrader, call: Call): MaybePromise<undefined>;
}

/** The Elysia app, as the gate calls it. */
export interface App extends RoutedApp {
  fetch(request: Request): Response | Promise<Response>;
}

/** The parts that an app makes possible. */
interface Opened {
  readonly app: App;
  readonly admission: Admission;
  readonly direct: DirectRoutes;
}

/** The result of Elysia's hook: nothing, a reply in place of the route's, or another request for the handler. */
export type HookResult = undefined | typeof REJECTED | { readonly request: Request };

/**
 * Ends a request within Elysia. The reply that is sent is kept in the visit. Elysia passes this one on without a copy,
 * since its status is 200.
 */
const REJECTED = status(200, new Response(null));

/**
 * Every request from its arrival to its reply. Requests without a credential that need one are refused at once. The most
 * frequent routes are answered here after all checks. Elysia finds the route of all other requests; its hook `admit` runs
 * the remaining checks, then Elysia validates and answers.
 */
export class Gate {
  readonly #deps: GateDependencies;
  readonly #visits: Visits;
  readonly #auth: RequestAuth;
  readonly #replies: ReplyFinisher;
  readonly #slow: SlowReplies<Visit>;
  #opened: Opened | null = null;

  constructor(deps: GateDependencies) {
    this.#deps = deps;
    this.#visits = new Visits(deps);
    this.#auth = new RequestAuth(deps);
    this.#replies = new ReplyFinisher(deps, this.#visits);
    this.#slow = new SlowReplies(deps.options.http.idleTimeout, (visit) => this.#visits.recordVisitor(visit));
  }

  /** Sets the app whose hook calls `admit`, and the routes that are answered without it. Call it once. */
  open(app: App, direct: readonly DirectRoute[]): void {
    const admission = new Admission(this.#deps, this.#auth, new RouteRules(app));
    this.#opened = { app, admission, direct: new DirectRoutes(direct) };
  }

  /** Returns the caller of a request. Throws if the request was not admitted. */
  call(request: Request): Call {
    const { call } = this.#visits.of(request);
    if (!call) throw new Error('a request that was not admitted');
    return call;
  }

  /** Returns undefined once the connection is a WebSocket. */
  handle(request: Request, server: Upgrader, isRehearsal = false): MaybePromise<Response | undefined> {
    const visit = this.#visits.begin(request, server, isRehearsal);
    const { app, admission, direct } = this.#opened!;
    let reply: MaybePromise<Response | PlainReply>;
    try {
      admission.checkArrival(visit);
      // Until the node is attached, JSON-RPC has replies of its own.
      const isEarly = visit.shape === 'rpc' && this.#deps.phase() === 'starting';
      const found = isEarly ? null : direct.find(visit.method, visit.target);
      if (found) {
        const read = this.#admitDirectly(visit, found.route);
        if (read === null && found.route.checkBeforeBody && visit.route?.unlimitedTime)
          return this.#answerBody(visit, found.route, found.route.checkBeforeBody);
        reply =
          read === null
            ? this.#answerDirectly(visit, found, request)
            : whenReady(read, (other) =>
                this.#answerDirectly(visit, found, this.#visits.bind(visit, other ?? request)),
              );
      } else {
        // The runtime does not know the connection of a request that has become a WebSocket.
        this.#visits.recordVisitor(visit);
        reply = app.fetch(this.#visits.routed(visit));
      }
    } catch (error) {
      reply = this.#replies.failed(visit, error);
    }
    // Elysia's own reply to a rejected request is dropped.
    if (visit.rejection) return this.#replies.finish(visit, visit.rejection);
    if (!(reply instanceof Promise)) return this.#replies.finish(visit, reply);
    return this.#finishLater(visit, this.#inTime(visit, reply));
  }

  #finishLater(visit: Visit, reply: Promise<object>): Promise<Response | undefined> {
    this.#visits.recordVisitor(visit);
    return reply.then(
      (ready) => this.#finish(visit, visit.rejection ?? this.#sendableLater(visit, ready)),
      (error: unknown) => this.#finish(visit, this.#failedLater(visit, error)),
    );
  }

  /** Finishes a reply that was not ready at once. */
  #finish(visit: Visit, reply: Response | PlainReply): MaybePromise<Response | undefined> {
    this.#slow.end(visit);
    return this.#replies.finish(visit, reply);
  }

  #sendableLater(visit: Visit, reply: object): Response | PlainReply {
    try {
      return sendable(reply);
    } catch (error) {
      return this.#failedLater(visit, error);
    }
  }

  #failedLater(visit: Visit, error: unknown): Response {
    if (visit.isDirect && !visit.isLate) return handlerError(error, visit, this.#deps.log);
    return this.#replies.failed(visit, error);
  }

  /** Elysia's hook for every request, before its parameters are validated. `pattern` is the path of the route. */
  admit(request: Request, pattern: string): MaybePromise<HookResult> {
    const visit = this.#visits.of(request);
    try {
      const admission = this.#check(visit, request, pattern);
      if (!(admission instanceof Promise)) return admission;
      return admission.catch((error: unknown) => this.#reject(visit, this.#replies.failed(visit, error)));
    } catch (error) {
      return this.#reject(visit, this.#replies.failed(visit, error));
    }
  }

  /** Returns the reply to a request that the checks reject; undefined if they admit it. */
  async rejection(request: Request, pattern: string): Promise<Response | undefined> {
    await this.admit(request, pattern);
    return this.#visits.of(request).rejection ?? undefined;
  }

  /** Upgrades a request for /ws to a WebSocket, after which no reply is sent. Throws ApiError. */
  upgrade(request: Request): MaybePromise<undefined> {
    const visit = this.#visits.of(request);
    return whenReady(this.#deps.upgrade(visit.request, visit.server, visit.call!), () => {
      visit.upgraded = true;
      return undefined;
    });
  }

  /** Answers a path with a method that has no route. Only preflights reach it. */
  preflight(request: Request): Response {
    const visit = this.#visits.of(request);
    const allow = visit.isSocket ? 'GET' : (visit.entry?.allow ?? null);
    return preflight(visit.request, allow, this.#deps.options.http.corsOrigins);
  }

  #check(visit: Visit, inner: Request, pattern: string): MaybePromise<HookResult> {
    const { admission } = this.#opened!;
    admission.checkRoute(visit, pattern);
    if (visit.shape === 'rpc' && this.#deps.phase() === 'starting')
      return rejectWhileStarting(inner).then((reply) => this.#reject(visit, reply));
    if (visit.method === 'OPTIONS') return undefined;
    if (isClient(visit)) beginServing();
    if (visit.isSocket) {
      visit.call = this.#auth.callOf(visit);
      return undefined;
    }
    return whenReady(admission.checkCaller(visit, inner), (read) =>
      read ? { request: this.#visits.bind(visit, read) } : undefined,
    );
  }

  /** Runs the checks of `admit`. Throws or rejects as they do. Returns another request where the body had to be read. */
  #admitDirectly(visit: Visit, route: DirectRoute): MaybePromise<Request | null> {
    const { admission } = this.#opened!;
    const { request } = visit;
    this.#visits.bind(visit, request);
    admission.checkRoute(visit, route.path);
    if (isClient(visit)) beginServing();
    return admission.checkCaller(visit, request);
  }

  /** Returns the answer of a direct route to an admitted request. */
  #answerDirectly(visit: Visit, { route, hash }: FoundDirectly, request: Request): MaybePromise<Response | PlainReply> {
    visit.isDirect = true;
    try {
      route.checkBeforeBody?.(request);
      const reply = route.checkBeforeBody
        ? request.bytes().then((body) => route.answer(request, hash, body))
        : route.answer(request, hash, NO_BODY);
      return reply instanceof Promise ? (reply as Promise<Response | PlainReply>) : sendable(reply);
    } catch (error) {
      return handlerError(error, visit, this.#deps.log);
    }
  }

  /**
   * Does the same for a request whose body is not read yet, and finishes the reply as soon as the body is there: these are
   * the calls of JSON-RPC, and each further promise takes a thirtieth of the time of a short one.
   */
  #answerBody(
    visit: Visit,
    route: DirectRoute,
    checkBeforeBody: (request: Request) => void,
  ): MaybePromise<Response | undefined> {
    const { request } = visit;
    visit.isDirect = true;
    try {
      checkBeforeBody(request);
    } catch (error) {
      return this.#replies.finish(visit, handlerError(error, visit, this.#deps.log));
    }
    // The body usually follows in the same packet.
    if (this.#deps.phase() === 'live') this.#slow.begin(visit);
    else this.#visits.recordVisitor(visit);
    return request.bytes().then(
      (body) => {
        let reply: MaybePromise<object>;
        try {
          reply = route.answer(request, '', body);
        } catch (error) {
          return this.#finish(visit, this.#failedLater(visit, error));
        }
        return reply instanceof Promise
          ? this.#finishLater(visit, reply)
          : this.#finish(visit, this.#sendableLater(visit, reply));
      },
      (error: unknown) => this.#finish(visit, this.#failedLater(visit, error)),
    );
  }

  #reject(visit: Visit, reply: Response): typeof REJECTED {
    visit.rejection = reply;
    return REJECTED;
  }

  /** Bounds the time of a reply, or lets it take its time where its route says so. */
  #inTime(visit: Visit, reply: Promise<Response | PlainReply>): Promise<Response | PlainReply> {
    if (Bun.peek.status(reply) !== 'pending') return reply;
    if (!visit.route?.unlimitedTime) return withDeadline(visit, reply, this.#deps.options.http.requestTimeoutMs);
    if (this.#deps.phase() === 'live') this.#slow.begin(visit);
    return reply;
  }
}

/** Whether a request is one of a client rather than of a health check or a collector of metrics. */
function isClient({ route, isRehearsal }: Visit): boolean {
  return !isRehearsal && route?.access !== 'open' && route?.access !== 'metrics';
}

/** Returns the JSON of a reply that is neither a Response nor a PlainReply. */
function sendable(reply: object): Response | PlainReply {
  return reply instanceof PlainReply || reply instanceof Response
    ? reply
    : new PlainReply(JSON_OBJECT, JSON.stringify(reply));
}

const NO_BODY = new Uint8Array(0);
const JSON_OBJECT: ReplyKind = { type: JSON_TYPE, cacheControl: null };

/** The deadline starts when the request is admitted. Until then the request waits for the password check. */
function withDeadline<T>(visit: Visit, reply: Promise<T>, timeoutMs: number): Promise<T> {
  if (timeoutMs === 0) return reply;
  return new Promise((resolve, reject) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    visit.onAdmitted = () => {
      timer = setTimeout(() => {
        visit.isLate = true;
        reject(new ApiError('overloaded', 'the request timed out'));
      }, timeoutMs);
    };
    if (visit.admitted) visit.onAdmitted();
    reply.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
