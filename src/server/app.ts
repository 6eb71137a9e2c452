import { type AnyElysia, Elysia } from 'elysia';
import { ApiError } from '../http/errors.ts';
import { access } from '../http/route-access.ts';
import type { ServerContext } from './context.ts';
import { docsRoutes } from './docs/routes.ts';
import { errorBoundary } from './error-boundary.ts';
import type { Readiness } from './ops/readiness.ts';
import { opsRoutes } from './ops/routes.ts';

/** A topic's routes, as a function of what they need. */
export type RoutePlugin = (context: ServerContext) => AnyElysia;

/** All routes in one Elysia app. It never listens itself: the gate hands it requests that have passed the checks. */
export function composeApp(context: ServerContext, readiness: Readiness, plugins: readonly RoutePlugin[]): AnyElysia {
  const { version } = context.options;
  let app: AnyElysia = new Elysia({ name: 'api', precompile: true, allowUnsafeValidationDetails: true })
    .use(errorBoundary(context))
    .use(opsRoutes(context, readiness))
    .use(docsRoutes(version, () => app))
    .get('/', ({ request, redirect }) => rootReply(request, redirect), { detail: { hide: true, ...access('open') } });
  for (const plugin of plugins) app = app.use(plugin(context));
  return app.compile();
}

function rootReply(request: Request, redirect: (url: string, status: 302) => Response): Response {
  if (request.headers.get('accept')?.includes('text/html')) return redirect('/docs', 302);
  throw new ApiError('method_not_allowed', 'JSON-RPC takes POST', null, { allow: 'POST' });
}
