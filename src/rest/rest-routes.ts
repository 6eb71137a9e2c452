import { type AnyElysia, Elysia } from 'elysia';
import type { DirectRoute } from '../http/direct-route.ts';
import { asResponse } from '../http/plain-reply.ts';
import { whenReady } from '../util/maybe-promise.ts';
import type { Endpoint } from './endpoint.ts';
import { ENDPOINTS } from './endpoints.ts';
import { BLOCK_HASH, TXID } from './parameters.ts';
import type { RestContext } from './rest-context.ts';

/** The REST interface. */
export const restRoutes = restRoutesOf(ENDPOINTS);

/** Returns the part of the REST interface that consists of these routes. */
export function restRoutesOf(endpoints: readonly Endpoint[]): (ctx: RestContext) => AnyElysia {
  return (ctx) => {
    const app: AnyElysia = new Elysia({ name: 'rest' });
    for (const endpoint of endpoints) addRoute(app, endpoint, ctx);
    for (const endpoint of endpoints) addDirectRoute(endpoint, ctx);
    return app;
  };
}

/** Makes a GET route direct if it has no parameter but one hash, which is then the only value to validate. */
function addDirectRoute(endpoint: Endpoint, ctx: RestContext): void {
  const { method, path, params, query } = endpoint;
  const [name, ...others] = Object.keys(params?.properties ?? {});
  const schema = name && params!.properties[name];
  if (method !== 'GET' || query || others.length > 0 || (name && schema !== TXID && schema !== BLOCK_HASH)) return;
  const serve = endpoint.serve(ctx, ctx.queries);
  const answer: DirectRoute['answer'] = name
    ? (request, hash) => serve({ params: { [name]: hash }, query: NONE, request })
    : (request) => serve({ params: NONE, query: NONE, request });
  ctx.answerDirectly({ method, path, answer });
}

const NONE = {};

/**
 * Adds one route. Elysia derives from a handler's parameters which parts of a request it reads, so only existing parts
 * are named.
 */
function addRoute(app: AnyElysia, endpoint: Endpoint, ctx: RestContext): void {
  const { method, path, params, query } = endpoint;
  const make = endpoint.serve(ctx, ctx.queries);
  const serve = (asked: Parameters<typeof make>[0]) => whenReady(make(asked), asResponse);
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
