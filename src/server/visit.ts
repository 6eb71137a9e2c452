import type { Server } from 'bun';
import type { Client } from '../auth/client-address.ts';
import type { TokenBucket } from '../auth/limits.ts';
import type { Call } from '../http/call.ts';
import type { Principal } from '../http/principal.ts';
import type { SocketData } from '../ws/connection.ts';
import type { Visitor } from './connections/visitors.ts';
import type { Route, RouteEntry } from './route-rules.ts';

/** The part of Bun's server that a request needs. */
export type Upgrader = Pick<Server<SocketData>, 'requestIP' | 'upgrade'> & Partial<Pick<Server<SocketData>, 'timeout'>>;

/** State of one request from its arrival to its reply. */
export interface Visit {
  readonly request: Request;
  /** By which it is routed; not always what the request says of itself. */
  readonly url: string;
  /** Path and query. */
  readonly target: string;
  readonly path: string;
  readonly requestId: string;
  readonly client: Client;
  /** null until Elysia has found it, and where there is none. */
  entry: RouteEntry | null;
  route: Route | null;
  readonly shape: 'rest' | 'rpc';
  readonly startedAt: number;
  /** The checks before the parameters have seen it. */
  checked: boolean;
  /** The reply of the checks to a request that they do not admit. */
  rejection: Response | null;
  /** The server that received it. */
  readonly server: Upgrader;
  /** null until the caller is known to be entitled to call something. */
  call: Call | null;
  /** It passed all checks, and its route answers. */
  admitted: boolean;
  onAdmitted: (() => void) | null;
  /** The connection has become a WebSocket. */
  upgraded: boolean;
  /** Sent by nobody, so that it is not counted. */
  readonly isRehearsal: boolean;
  /** Called when the reply is there. */
  release: (() => void) | null;
  principal: Principal;
  bucket: TokenBucket | null;
  /** Its connection; null where no connection is known. */
  readonly visitor: Visitor | null;
}
