import type { Server } from 'bun';
import { ApiError, errorResponse, type FailureCode } from '../../http/errors.ts';
import type { ApiOptions, ListenAddress } from '../../http/options.ts';
import { HostPolicy, WRONG_HOST } from '../hosts.ts';
import { listenProblem } from '../listen-problem.ts';
import { pathOf, routedUrl, targetOf } from '../request-url.ts';
import type { ApiMetrics } from './metrics.ts';
import { healthzBody, healthzResponse, metricsResponse, readyzResponse } from './ops-routes.ts';
import type { ReadinessView } from './readiness.ts';

interface OpsDependencies {
  readonly options: ApiOptions;
  readonly metrics: ApiMetrics;
  readonly readiness: ReadinessView;
}

const PATHS: readonly string[] = ['/healthz', '/readyz', '/metrics'];

/** Opens the second listener, which serves three paths to probes and scrapers without a key. */
export function startOpsListener(
  { host, port }: ListenAddress,
  { options, metrics, readiness }: OpsDependencies,
): Server<undefined> {
  const healthz = healthzBody(options.service);
  const hosts = new HostPolicy({ ...options.http, bindHosts: [host] });
  const answer = async (request: Request): Promise<Response> => {
    const startedAt = performance.now();
    const path = pathOf(targetOf(routedUrl(request.url)));
    const response = await answerPath(request, path);
    const route = PATHS.includes(path) && response.status !== 421 ? path : 'unmatched';
    metrics.http(route, request.method, response.status, (performance.now() - startedAt) / 1000);
    return response;
  };
  const answerPath = async (request: Request, path: string): Promise<Response> => {
    const read = request.method === 'GET' || request.method === 'HEAD';
    if (read && path === '/healthz') return healthzResponse(healthz);
    if (read && path === '/readyz') return readyzResponse(await readiness.run());
    if (!hosts.allows(request.headers.get('host'))) return refused('misdirected_request', WRONG_HOST);
    if (read && path === '/metrics') return metricsResponse(await metrics.render());
    return refused('not_found', 'no such route');
  };
  try {
    return Bun.serve({ hostname: host, port, reusePort: false, development: false, fetch: answer });
  } catch (error) {
    throw listenProblem('ops.listen', { host, port }, error);
  }
}

function refused(failure: FailureCode, message: string): Response {
  return errorResponse(new ApiError(failure, message), crypto.randomUUID(), 'rest');
}
