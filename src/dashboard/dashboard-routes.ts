import { type AnyElysia, Elysia } from 'elysia';
import { ApiError } from '../http/errors.ts';
import { access } from '../http/route-access.ts';

const OPEN = { detail: { hide: true, ...access('open') } };

/** The files are loaded at the first request, so that a node whose dashboard is not used has no cost of it. */
const files = () => import('./dashboard-files.ts');

/**
 * Serves the pages at /dashboard. They hold no data: the script requests what it shows with the cookie of a session, or
 * shows the form that starts one.
 */
export function dashboardRoutes(): AnyElysia {
  const page = async ({ request }: { request: Request }) => {
    const { PAGE, fileReply } = await files();
    return fileReply(PAGE, request);
  };
  return new Elysia({ name: 'dashboard' })
    .get(
      '/dashboard/assets/:name',
      async ({ request, params }) => {
        const { ASSETS, fileReply } = await files();
        const asset = ASSETS.get(params.name);
        if (!asset) throw new ApiError('not_found', 'the dashboard has no such file');
        return fileReply(asset, request);
      },
      OPEN,
    )
    .get('/dashboard', page, OPEN)
    .get('/dashboard/*', page, OPEN);
}
