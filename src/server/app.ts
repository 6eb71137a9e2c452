import { swagger } from '@elysiajs/swagger';
import { type AnyElysia, Elysia } from 'elysia';
import { ApiError } from '../http/errors.ts';
import { access } from '../http/route-access.ts';
import type { ServerContext } from './context.ts';
import { docsPage } from './docs/page.ts';
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
    .use(
      swagger({
        // The page it brings loads scripts from elsewhere, so it is put where nothing leads and ours stands at /docs.
        path: UNUSED_PAGE,
        specPath: '/docs/json',
        exclude: [/^\/docs/],
        documentation: {
          info: { title: 'Obverse', version, description: 'REST interface of an Obverse node. JSON-RPC is at POST /.' },
          components: {
            securitySchemes: {
              bearer: { type: 'http', scheme: 'bearer', description: 'A key: obv1_…' },
              basic: { type: 'http', scheme: 'basic', description: 'The cookie file, or a user of rpcauth' },
            },
          },
          security: [{ bearer: [] }],
        },
      }),
    )
    .get('/docs', docsPage, { detail: { hide: true, ...access('open') } })
    .get('/', ({ request, redirect }) => rootReply(request, redirect), { detail: { hide: true, ...access('open') } });
  for (const plugin of plugins) app = app.use(plugin(context));
  return app.compile();
}

const UNUSED_PAGE = '/docs/unused';

/** Routes of Elysia's list that are no routes of ours, and access of those that could not say it. */
export function declaredRoutes(app: AnyElysia) {
  return app.routes
    .filter(({ path }) => path !== UNUSED_PAGE)
    .map(({ method, path, hooks }) => ({
      method,
      path,
      hooks: path === '/docs/json' ? { detail: access('open') } : hooks,
    }));
}

function rootReply(request: Request, redirect: (url: string, status: 302) => Response): Response {
  if (request.headers.get('accept')?.includes('text/html')) return redirect('/docs', 302);
  throw new ApiError('method_not_allowed', 'JSON-RPC takes POST', null, { allow: 'POST' });
}
