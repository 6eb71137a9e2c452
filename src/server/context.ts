import type { FrontSessions } from '../auth/front-sessions.ts';
import type { KeyAdmin } from '../auth/key-admin.ts';
import type { RestContext } from '../rest/rest-context.ts';
import type { RpcContext } from '../rpc/engine/rpc-context.ts';
import type { ApiMetrics } from './ops/metrics.ts';

/** Dependencies of the routes of all interfaces. */
export interface ServerContext extends RestContext, RpcContext {
  readonly metrics: ApiMetrics;
  readonly sessions: FrontSessions;
  keys(): KeyAdmin;
}
