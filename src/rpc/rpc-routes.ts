import { methodRoutes } from './engine/route.ts';
import type { RpcContext } from './engine/rpc-context.ts';
import { RPC_METHODS } from './methods/methods.ts';

/** The JSON-RPC interface. */
export const rpcRoutes = (ctx: RpcContext) => methodRoutes(ctx, RPC_METHODS);
