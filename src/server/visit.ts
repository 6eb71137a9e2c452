import type { Server } from 'bun';
import type { Client, ClientAddresses } from '../auth/client-address.ts';
import type { RateBucket } from '../auth/rate-limits.ts';
import type { Call } from '../http/call.ts';
import { ANONYMOUS, type Principal } from '../http/principal.ts';
import type { SocketData } from '../ws/ws-connection.ts';
import type { Visitor, Visitors } from './connections/visitors.ts';
import { routedUrl, splitTarget } from './request-url.ts';
import type { Route, RouteEntry } from './route-rules.ts';

/** The part of Bun's server that a request needs. */
export type Upgrader = Pick<Server<SocketData>, 'requestIP' | 'upgrade'> & Partial<Pick<Server<SocketData>, 'timeout'>>;

/** State of one request from its arrival to its reply. */
export interface Visit {
  readonly request: Request;
  /** URL that routes the request; it may differ from the URL of the request itself. */
  readonly url: string;
  /** Path and query. */
  readonly target: string;
  readonly path: string;
  /** Whether the path is that of the WebSocket. */
  readonly isSocket: boolean;
  readonly requestId: string;
  readonly client: Client;
  /** null until the route is found, and if no route matches. */
  entry: RouteEntry | null;
  route: Route | null;
  readonly shape: 'rest' | 'rpc';
  readonly startedAt: number;
  /** Whether the checks before the parameters have run. */
  checked: boolean;
  /** The reply to a request that the checks reject; null if they admit it. */
  rejection: Response | null;
  /** The server that received it. */
  readonly server: Upgrader;
  /** null until the caller is authenticated and allowed to call a method. */
  call: Call | null;
  /** Whether the request passed all checks and its route answers. */
  admitted: boolean;
  onAdmitted: (() => void) | null;
  /** Whether the connection has become a WebSocket. */
  upgraded: boolean;
  /** Whether the server itself made the request, so that it is not counted. */
  readonly isRehearsal: boolean;
  /** Called when the reply is ready. */
  release: (() => void) | null;
  principal: Principal;
  bucket: RateBucket | null;
  /** The connection of the request; null if it is not known. */
  readonly visitor: Visitor | null;
}

/** The path of the WebSocket, as metrics name it. */
export const SOCKET_PATH = '/ws';
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

/** The running requests, by the request that Elysia receives. */
export class Visits {
  readonly #deps: VisitDependencies;
  readonly #idPrefix = Buffer.from(crypto.getRandomValues(new Uint8Array(5))).toString('hex');
  #requests = 0;

  constructor(deps: VisitDependencies) {
    this.#deps = deps;
  }

  /** Returns the state of a request that has just arrived. */
  begin(request: Request, server: Upgrader, isRehearsal: boolean): Visit {
    const url = routedUrl(request.url);
    const { target, path } = splitTarget(url);
    const given = request.headers.get('x-request-id');
    const peer = server.requestIP(request);
    return {
      request,
      url,
      target,
      path,
      isSocket: path === SOCKET_PATH || path === `${SOCKET_PATH}/`,
      requestId:
        given !== null && REQUEST_ID.test(given) ? given : `${this.#idPrefix}-${(++this.#requests).toString(36)}`,
      client: this.#deps.clients.clientOf(peer?.address ?? '', request.headers),
      entry: null,
      route: null,
      checked: false,
      rejection: null,
      shape: request.method === 'POST' && (path === '/' || path.startsWith('/wallet/')) ? 'rpc' : 'rest',
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

  /** Returns the request as Elysia routes it. HEAD is routed as GET, and Bun omits the body of the reply. */
  routed(visit: Visit): Request {
    const { request, url, target } = visit;
    if (request.method === 'HEAD')
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
