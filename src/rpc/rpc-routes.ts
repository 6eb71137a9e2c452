import { Elysia } from 'elysia';
import { JSON_TYPE } from '../http/errors.ts';
import { access } from '../http/route-access.ts';
import { coreRestRoutes } from './core-rest/core-rest-routes.ts';
import { openRpcDocument } from './engine/openrpc.ts';
import { methodRoutes } from './engine/route.ts';
import type { RpcContext } from './engine/rpc-context.ts';
import { RPC_METHODS } from './methods/methods.ts';

/** The JSON-RPC interface with its OpenRPC document, and Core's REST interface if it is switched on. */
export const rpcRoutes = (ctx: RpcContext) => {
  const { version } = ctx.options;
  let text: string | null = null;
  const document = () => {
    text ??= JSON.stringify(openRpcDocument(RPC_METHODS.values(), { version, withHidden: false }));
    return new Response(text, { headers: { 'content-type': JSON_TYPE } });
  };
  const coreRest = coreRestRoutes(ctx);
  const app = new Elysia({ name: 'json-rpc' })
    .use(methodRoutes(ctx, RPC_METHODS))
    .get('/docs/openrpc.json', document, { detail: { hide: true, ...access('open') } });
  return coreRest === null ? app : app.use(coreRest);
};
