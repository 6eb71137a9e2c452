import type { Server } from 'bun';
import type { Client, ClientAddresses, PeerSource } from '../auth/client-address.ts';
import type { RateBucket } from '../auth/rate-limits.ts';
import type { Call } from '../http/call.ts';
import { ANONYMOUS, type Principal } from '../http/principal.ts';
import { sessionCookieOf } from '../http/session-cookie.ts';
import type { SocketData } from '../ws/ws-connection.ts';
import type { Visitor, Visitors } from './connections/visitors.ts';
import { RequestIds } from './request-ids.ts';
import { pathOf, routedUrl, targetOf } from './request-url.ts';
import type { Route, RouteEntry } from './route-rules.ts';

/** The part of Bun's server that a request needs. */
export type Upgrader = PeerSource & Pick<Server<SocketData>, 'upgrade'> & Partial<Pick<Server<SocketData>, 'timeout'>>;

/** State of one request from its arrival to its reply. */
export class Visit {
  readonly request: Request;
  readonly method: string;
  /** The server that received it. */
  readonly server: Upgrader;
  /** URL that routes the request; it may differ from the URL of the request itself. */
  readonly url: string;
  /** Path and query. */
  readonly target: string;
  readonly path: string;
  /** Whether the path is that of the WebSocket. */
  readonly isSocket: boolean;
  readonly shape: 'rest' | 'rpc';
  readonly requestId: string;
  readonly client: Client;
  /** The connection of the request; null if it is not known, or not recorded. */
  visitor: Visitor | null = null;
  /** Values of the headers; null if they are missing. */
  readonly authorization: string | null;
  /** The cookie of a session, where it counts; null beside an Authorization header, which a client adds on purpose. */
  readonly session: string | null;
  readonly contentLength: string | null;
  readonly startedAt: number;
  /** Whether the server itself made the request, so that it is not counted. */
  readonly isRehearsal: boolean;
  /** null until the route is found, and if no route matches. */
  entry: RouteEntry | null = null;
  route: Route | null = null;
  /** Whether the checks before the parameters have run. */
  checked = false;
  /** The reply to a request that the checks reject; null if they admit it. */
  rejection: Response | null = null;
  /** null until the caller is authenticated and allowed to call a method. */
  call: Call | null = null;
  /** Whether the request passed all checks and its route answers. */
  admitted = false;
  onAdmitted: (() => void) | null = null;
  /** Whether the gate answers the request without Elysia. */
  isDirect = false;
  /** Whether the reply did not come in time. */
  isLate = false;
  /** Whether the connection has become a WebSocket. */
  upgraded = false;
  /** Called when the reply is ready. */
  release: (() => void) | null = null;
  principal: Principal = ANONYMOUS;
  bucket: RateBucket | null = null;

  constructor(request: Request, server: Upgrader, { url, requestId, client, startedAt, isRehearsal }: Arrival) {
    const { headers, method } = request;
    this.request = request;
    this.method = method;
    this.server = server;
    this.url = url;
    this.target = targetOf(url);
    this.path = pathOf(this.target);
    this.isSocket = this.path === SOCKET_PATH || this.path === SOCKET_PATH_SLASH;
    this.shape = method === 'POST' && (this.path === '/' || this.path.startsWith('/wallet/')) ? 'rpc' : 'rest';
    this.requestId = requestId;
    this.client = client;
    this.authorization = headers.get('authorization');
    this.session =
      this.authorization === null && acceptsSession(this.path) ? sessionCookieOf(headers.get('cookie')) : null;
    this.contentLength = headers.get('content-length');
    this.startedAt = startedAt;
    this.isRehearsal = isRehearsal;
  }

  /** Address of the client. */
  get ip(): string {
    return this.client.ip;
  }
}

/** The members that a visit does not derive from its request. */
type Arrival = Pick<Visit, 'url' | 'requestId' | 'client' | 'startedAt' | 'isRehearsal'>;

/** The path of the WebSocket, as metrics name it. */
export const SOCKET_PATH = '/ws';
const METRICS_PATH = '/metrics';
const SOCKET_PATH_SLASH = `${SOCKET_PATH}/`;
const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

interface VisitDependencies {
  readonly clients: ClientAddresses;
  readonly visitors: Visitors;
}

/** The visit of a request. A WeakMap with each request would take several times longer, most of it in the collector. */
const VISIT = Symbol('visit');

interface VisitingRequest extends Request {
  [VISIT]?: Visit;
}

/** Longest body of a request that is expected to be answered at once: it arrives with the headers. Bytes. */
const PROMPT_BODY = 2048;

/** Whether the request has a credential and, if any, a short body. */
function mayBePrompt({ authorization, contentLength, method }: Visit): boolean {
  if (authorization === null) return false;
  return contentLength === null ? method === 'GET' : Number(contentLength) <= PROMPT_BODY;
}

/** Whether the cookie of a session counts on a path. It never does on those of JSON-RPC. */
function acceptsSession(path: string): boolean {
  return path.startsWith('/api/') || path === '/api' || path === METRICS_PATH || path.startsWith(SOCKET_PATH);
}

/** The running requests, by the request that Elysia receives. */
export class Visits {
  readonly #deps: VisitDependencies;
  readonly #ids = new RequestIds();

  constructor(deps: VisitDependencies) {
    this.#deps = deps;
  }

  /** Returns the state of a request that has just arrived. */
  begin(request: Request, server: Upgrader, isRehearsal: boolean): Visit {
    const { clients } = this.#deps;
    const url = routedUrl(request.url);
    const { headers } = request;
    const given = headers.get('x-request-id');
    const startedAt = performance.now();
    const visit = new Visit(request, server, {
      url,
      requestId: given !== null && REQUEST_ID.test(given) ? given : this.#ids.next(),
      client: clients.clientOf(server, request),
      startedAt,
      isRehearsal,
    });
    if (!mayBePrompt(visit)) this.recordVisitor(visit);
    return visit;
  }

  /** Records the connection of a request that is answered at once, or leaves it out where its caller sends very many. */
  recordPrompt(visit: Visit): void {
    const { visitor, principal } = visit;
    if (visitor !== null) return;
    if (principal === ANONYMOUS || this.#deps.visitors.mustRecordPrompt(principal.id)) this.recordVisitor(visit);
  }

  /** Records the connection of a request, unless it is recorded. Call it before the request waits. */
  recordVisitor(visit: Visit): void {
    if (visit.visitor !== null) return;
    const { peer } = visit.client;
    if (peer === null) return;
    visit.visitor = this.#deps.visitors.began(peer.address, peer.port, visit.startedAt);
    if (visit.principal !== ANONYMOUS) visit.visitor.keyed = true;
  }

  /** Returns the request as Elysia routes it. HEAD is routed as GET, and Bun omits the body of the reply. */
  routed(visit: Visit): Request {
    const { request, method, url, target } = visit;
    if (method === 'HEAD')
      return this.bind(
        visit,
        new Request(`http://localhost${target}`, { headers: request.headers, signal: request.signal }),
      );
    return this.bind(visit, url === request.url ? request : new Request(url, request));
  }

  /** Makes `inner` another request of the visit. */
  bind(visit: Visit, inner: Request): Request {
    (inner as VisitingRequest)[VISIT] = visit;
    return inner;
  }

  /** Throws on a request that did not arrive here. */
  of(request: Request): Visit {
    const visit = (request as VisitingRequest)[VISIT];
    if (!visit) throw new Error('a request that did not arrive at the gate');
    return visit;
  }
}
