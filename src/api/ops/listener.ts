import type { Server } from 'bun';
import { ApiError, errorResponse } from '../errors.ts';
import type { ApiOptions, ListenAddress } from '../options.ts';
import { routedUrl, splitTarget } from '../request-url.ts';
import type { ApiMetrics } from './metrics.ts';
import type { Readiness } from './readiness.ts';
import { healthzBody, healthzResponse, metricsResponse, readyzResponse } from './routes.ts';

interface OpsDependencies {
  readonly options: ApiOptions;
  readonly metrics: ApiMetrics;
  readonly readiness: Readiness;
}

/** The second listener, for probes and scrapers that hold no key: three paths and nothing else. */
export function startOpsListener(
  { host, port }: ListenAddress,
  { options, metrics, readiness }: OpsDependencies,
): Server<undefined> {
  const healthz = healthzBody(options.service);
  const answer = async (request: Request): Promise<Response> => {
    const { path } = splitTarget(routedUrl(request.url));
    const read = request.method === 'GET' || request.method === 'HEAD';
    if (read && path === '/healthz') return healthzResponse(healthz);
    if (read && path === '/readyz') return readyzResponse(await readiness.run());
    if (read && path === '/metrics') return metricsResponse(await metrics.render());
    return errorResponse(new ApiError('not_found', 'no such route'), crypto.randomUUID(), 'rest');
  };
  return Bun.serve({ hostname: host, port, reusePort: false, development: false, fetch: answer });
}
