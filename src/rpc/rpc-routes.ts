import type { RpcContext } from './engine/context.ts';
import { methodRoutes } from './engine/route.ts';
import { RPC_METHODS } from './methods/methods.ts';

/** The JSON-RPC interface. */
export const rpcRoutes = (ctx: RpcContext) => methodRoutes(ctx, RPC_METHODS);
