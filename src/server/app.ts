import { type AnyElysia, Elysia } from 'elysia';
import { dashboardRoutes } from '../dashboard/dashboard-routes.ts';
import { ApiError } from '../http/errors.ts';
import { access } from '../http/route-access.ts';
import type { ServerContext } from './context.ts';
import { docsRoutes } from './docs/docs-routes.ts';
import { errorBoundary } from './error-boundary.ts';
import type { Gate } from './gate.ts';
import { opsRoutes } from './ops/ops-routes.ts';
import type { ReadinessView } from './ops/readiness.ts';

/** Returns the routes of one topic, built from the context that they need. */
export type RoutePlugin = (context: ServerContext) => AnyElysia;

/** The routes beside those of operations and documents. */
export interface ComposedRoutes {
  readonly plugins: readonly RoutePlugin[];
  /** Whether a node is behind the server, with its dashboard; true by default. */
  readonly hasNode?: boolean;
}

/** The checks of requests that are hooks of Elysia. */
export type GateHooks = Pick<Gate, 'admit' | 'rejection' | 'upgrade' | 'preflight'>;

/** Returns one Elysia app with all routes. A hook applies the checks of the gate before each of them. */
export function composeApp(
  context: ServerContext,
  readiness: ReadinessView,
  { gate, plugins, hasNode = true }: ComposedRoutes & { readonly gate: GateHooks },
): AnyElysia {
  const { version } = context.options;
  let app: AnyElysia = new Elysia({ name: 'api', precompile: true, allowUnsafeValidationDetails: true })
    .use(admission(gate))
    .use(errorBoundary(context))
    .use(opsRoutes(context, readiness))
    .use(docsRoutes(version, () => app, { hasNode }));
  if (hasNode)
    app = app
      .use(dashboardRoutes())
      .get('/', ({ request, redirect }) => rootReply(request, redirect), { detail: { hide: true, ...access('open') } });
  for (const plugin of plugins) app = app.use(plugin(context));
  addOtherMethods(app, gate);
  return app.compile();
}

/**
 * Runs before the parameters of a request are validated. If Elysia cannot parse a body, it runs before that error is
 * answered.
 */
const admission = (gate: GateHooks) =>
  new Elysia({ name: 'admission' })
    .derive({ as: 'global' }, ({ request, route }) => gate.admit(request, route))
    .onError({ as: 'global' }, async ({ code, request, route }) =>
      // The types leave this code out.
      (code as string) === 'PARSE' ? gate.rejection(request, route) : undefined,
    );

/**
 * Adds the missing methods of every path, and all other paths. Their requests pass the same checks, which reject all of
 * them except preflights.
 */
function addOtherMethods(app: AnyElysia, gate: GateHooks): void {
  app.all(
    '/ws',
    ({ request }) => (request.method === 'OPTIONS' ? gate.preflight(request) : gate.upgrade(request)),
    HIDDEN,
  );
  app.all('/*', ({ request }) => gate.preflight(request), HIDDEN);
  // Few clients send preflights, so these handlers are compiled at the first request of each path, and not at the start.
  app.config.precompile = false;
  for (const path of new Set(app.routes.filter(({ method }) => method !== 'ALL').map((route) => route.path)))
    app.all(path, ({ request }) => gate.preflight(request), HIDDEN);
}

const HIDDEN = { detail: { hide: true } };

function rootReply(request: Request, redirect: (url: string, status: 302) => Response): Response {
  if (request.headers.get('accept')?.includes('text/html')) return redirect('/dashboard', 302);
  throw new ApiError('method_not_allowed', 'JSON-RPC takes POST', null, { allow: 'POST' });
}
