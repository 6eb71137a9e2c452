import type { Server } from 'bun';
import type { Client } from '../auth/client-address.ts';
import type { TokenBucket } from '../auth/rate-limits.ts';
import type { Call } from '../http/call.ts';
import type { Principal } from '../http/principal.ts';
import type { SocketData } from '../ws/ws-connection.ts';
import type { Visitor } from './connections/visitors.ts';
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
  readonly requestId: string;
  readonly client: Client;
  /** null until Elysia has found the route, and if no route matches. */
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
  bucket: TokenBucket | null;
  /** The connection of the request; null if it is not known. */
  readonly visitor: Visitor | null;
}
