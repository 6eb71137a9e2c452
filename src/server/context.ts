import type { RestContext } from '../rest/context.ts';
import type { RpcContext } from '../rpc/engine/context.ts';
import type { ApiMetrics } from './ops/metrics.ts';

/** Everything that the routes of all interfaces answer from. */
export interface ServerContext extends RestContext, RpcContext {
  readonly metrics: ApiMetrics;
}
