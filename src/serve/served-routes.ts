import { type AnyElysia, Elysia } from 'elysia';
import { access } from '../http/route-access.ts';
import { broadcastEndpoint, packageEndpoint, testTxsEndpoint } from '../rest/broadcast-endpoints.ts';
import type { Endpoint } from '../rest/endpoint.ts';
import { ENDPOINTS, READ_ROUTES } from '../rest/endpoints.ts';
import { eventsEndpoint } from '../rest/events-endpoint.ts';
import { limitsEndpoint } from '../rest/limits-endpoint.ts';
import { mempoolAddressEndpoint } from '../rest/mempool-endpoints.ts';
import { listingEndpoint } from '../rest/node-endpoints.ts';
import { restRoutesOf } from '../rest/rest-routes.ts';
import { streamEndpoint } from '../rest/stream-endpoint.ts';
import { cpfpEndpoint } from '../rest/tx-relatives.ts';
import type { ServerContext } from '../server/context.ts';
import { withoutNode } from './served-node.ts';
import type { SubmitNodes } from './submit-nodes.ts';

/** Reads about the mempool. */
const MEMPOOL_READS: ReadonlySet<Endpoint> = new Set<Endpoint>([mempoolAddressEndpoint, cpfpEndpoint]);
/** Routes whose requests a node answers. */
const SUBMITS: readonly Endpoint[] = [broadcastEndpoint, testTxsEndpoint, packageEndpoint];

/** Names of what a node serves, by the beginnings of paths; the first that fits. */
const FEATURES: readonly (readonly [path: string, feature: string])[] = [
  ['/api/tx', 'transactions of the mempool'],
  ['/api/mempool', 'the mempool'],
  ['/api/address', 'the mempool'],
  ['/api/fees', 'fee estimates'],
  ['/api/watches', 'stored watches'],
  ['/api/webhooks', 'webhooks'],
  ['/api/session', 'sessions'],
  ['/api/ws-ticket', 'tickets'],
  ['/api/keys', 'the list of keys'],
  ['/api/audit', 'the audit log'],
];
const OTHER_FEATURE = 'the state of a node';

/** Paths outside of the REST interface that a node serves, with the method and the feature. */
const OTHER_PATHS: readonly (readonly [method: 'GET' | 'POST', path: string, feature: string])[] = [
  ['POST', '/', 'JSON-RPC'],
  ['POST', '/wallet/*', 'JSON-RPC'],
  ['GET', '/rest/*', "Bitcoin Core's REST interface"],
  ['GET', '/dashboard', 'the dashboard'],
  ['GET', '/dashboard/*', 'the dashboard'],
];

const HIDDEN = { hide: true, ...access('open') };

/** Returns the routes that a server answers from the database, or that a node answers if the server knows one. */
function servedEndpoints(nodes: SubmitNodes): readonly Endpoint[] {
  const reads = READ_ROUTES.filter((endpoint) => !MEMPOOL_READS.has(endpoint));
  const submits = nodes.size === 0 ? [] : SUBMITS.map((endpoint) => forwarded(endpoint, nodes));
  return [...reads, listingEndpoint, ...submits, eventsEndpoint, streamEndpoint, limitsEndpoint];
}

/** Returns the same route, whose requests a node answers. */
function forwarded(endpoint: Endpoint, nodes: SubmitNodes): Endpoint {
  const { path } = endpoint;
  return { ...endpoint, serve: () => (asked) => nodes.forward(path, asked.request) };
}

/**
 * Returns the REST interface of a server. Each other route of a node answers `feature_disabled`, and is in no document: with
 * the checks of its own, so that a client without a key learns no more than at a node.
 */
export function servedRoutes(nodes: SubmitNodes): (ctx: ServerContext) => AnyElysia {
  const served = servedEndpoints(nodes);
  const names = new Set(served.map(({ method, path }) => `${method} ${path}`));
  return (ctx) => {
    const app: AnyElysia = new Elysia({ name: 'served' }).use(restRoutesOf(served)(ctx));
    for (const { method, path, detail } of ENDPOINTS) {
      if (names.has(`${method} ${path}`)) continue;
      const refuse = () => {
        throw withoutNode(featureOf(path));
      };
      app.route(method, path, refuse, { parse: 'none', detail: { ...detail(ctx.options), hide: true } });
    }
    for (const [method, path, feature] of OTHER_PATHS)
      app.route(
        method,
        path,
        () => {
          throw withoutNode(feature);
        },
        { parse: 'none', detail: HIDDEN },
      );
    return app;
  };
}

function featureOf(path: string): string {
  return FEATURES.find(([start]) => path === start || path.startsWith(`${start}/`))?.[1] ?? OTHER_FEATURE;
}
