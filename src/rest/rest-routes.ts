import { type AnyElysia, Elysia } from 'elysia';
import type { Endpoint } from './endpoint.ts';
import { ENDPOINTS } from './endpoints.ts';
import type { RestContext } from './rest-context.ts';

/** The REST interface. */
export function restRoutes(ctx: RestContext): AnyElysia {
  const app: AnyElysia = new Elysia({ name: 'rest' });
  for (const endpoint of ENDPOINTS) addRoute(app, endpoint, ctx);
  return app;
}

const NONE = {};

/**
 * Adds one route. Elysia derives from a handler's parameters which parts of a request it reads, so only existing parts
 * are named.
 */
function addRoute(app: AnyElysia, endpoint: Endpoint, ctx: RestContext): void {
  const { method, path, params, query } = endpoint;
  const serve = endpoint.serve(ctx, ctx.queries);
  const hook = {
    ...(params && { params }),
    ...(query && { query }),
    // Handlers read the bodies, since they limit how much of them is parsed.
    ...(method !== 'GET' && { parse: 'none' as const }),
    detail: endpoint.detail(ctx.options),
  };
  if (params && query) app.route(method, path, ({ params, query, request }) => serve({ params, query, request }), hook);
  else if (params) app.route(method, path, ({ params, request }) => serve({ params, query: NONE, request }), hook);
  else if (query) app.route(method, path, ({ query, request }) => serve({ params: NONE, query, request }), hook);
  else app.route(method, path, ({ request }) => serve({ params: NONE, query: NONE, request }), hook);
}
