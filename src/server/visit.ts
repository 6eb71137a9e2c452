import type { Client } from '../auth/client-address.ts';
import type { TokenBucket } from '../auth/limits.ts';
import type { Principal } from '../http/principal.ts';
import type { Visitor } from './connections/visitors.ts';
import type { Route, RouteEntry } from './route-table.ts';

/** State of one request while it passes the gate. */
export interface Visit {
  readonly request: Request;
  /** By which it is routed; not always what the request says of itself. */
  readonly url: string;
  /** Path and query. */
  readonly target: string;
  readonly path: string;
  readonly requestId: string;
  readonly client: Client;
  readonly entry: RouteEntry | null;
  readonly route: Route | null;
  readonly shape: 'rest' | 'rpc';
  readonly startedAt: number;
  principal: Principal;
  bucket: TokenBucket | null;
  /** Its connection; null where no connection is known. */
  readonly visitor: Visitor | null;
}
