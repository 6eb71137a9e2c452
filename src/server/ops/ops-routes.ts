import { Elysia, t } from 'elysia';
import type { Call } from '../../http/call.ts';
import { JSON_TYPE } from '../../http/errors.ts';
import { PlainReply } from '../../http/plain-reply.ts';
import { count, named, namedWords, time } from '../../http/reply-schema.ts';
import { describeRoute, json, plainText } from '../../http/route-description.ts';
import { systemClock, unixSeconds } from '../../util/clock.ts';
import type { ServerContext } from '../context.ts';
import type { ReadinessReport, ReadinessView } from './readiness.ts';

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Returns the body of /healthz, which always has exactly these two members. */
export function healthzBody(service: string): string {
  return JSON.stringify({ status: 'ok', service });
}

export function readyzResponse(report: ReadinessReport): Response {
  return new Response(JSON.stringify(report), {
    status: report.status === 'ok' ? 200 : 503,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
  });
}

export function metricsResponse(text: string): Response {
  return new Response(text, { headers: { 'content-type': METRICS_TYPE, 'cache-control': 'no-store' } });
}

export function healthzResponse(body: string): Response {
  return new Response(body, {
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
  });
}

const WALLET_LABEL = /[{,]wallet="((?:[^"\\]|\\.)*)"/;

/** A key that is bound to wallets does not see other wallets or their names. */
function ofWallets(text: string, { principal: { wallets } }: Call): string {
  if (wallets === null) return text;
  const visible = new Set([...wallets].map((name) => name.replaceAll('\\', '\\\\').replaceAll('"', '\\"')));
  return text
    .split('\n')
    .filter((line) => {
      const label = WALLET_LABEL.exec(line)?.[1];
      return label === undefined || visible.has(label);
    })
    .join('\n');
}

/** Serves liveness, readiness, metrics and the public health reply. */
export const opsRoutes = (ctx: ServerContext, readiness: ReadinessView) => {
  const { options, metrics, startedAt, call } = ctx;
  const healthz = healthzBody(options.service);
  const healthzReply = new PlainReply({ type: JSON_TYPE, cacheControl: 'no-store' }, healthz);
  ctx.answerDirectly({ method: 'GET', path: '/healthz', answer: () => healthzReply });
  return new Elysia({ name: 'api.ops' })
    .get('/healthz', () => healthzResponse(healthz), {
      detail: describeRoute({
        name: 'healthz',
        tag: 'operations',
        summary: 'Liveness: 200 as long as the process serves',
        access: 'open',
        limits: { whileStarting: true },
        response: json(HEALTHZ),
      }),
    })
    .get('/readyz', async () => readyzResponse(await readiness.run()), {
      detail: describeRoute({
        name: 'readyz',
        tag: 'operations',
        summary: 'Readiness: 200 when every check is ok, else 503',
        access: 'open',
        limits: { whileStarting: true },
        response: json(READINESS),
        otherResponses: { 503: { description: 'some check is degraded or failed', content: json(READINESS) } },
      }),
    })
    .get('/metrics', async ({ request }) => metricsResponse(ofWallets(await metrics.render(), call(request))), {
      detail: describeRoute({
        name: 'metrics',
        tag: 'operations',
        summary: 'Prometheus metrics',
        access: 'metrics',
        response: plainText(t.String()),
      }),
    })
    .get(
      '/api/health',
      ({ set }) => {
        set.headers['cache-control'] = 'no-store';
        const now = unixSeconds(systemClock);
        return {
          status: 'ok',
          service: options.service,
          version: options.version,
          network: options.network,
          time: now,
          uptime: Math.max(0, now - startedAt),
          ready: readiness.ready,
        };
      },
      {
        detail: describeRoute({
          name: 'health',
          tag: 'operations',
          summary: 'Health',
          access: 'public',
          limits: { whileStarting: true },
          response: json(HEALTH),
        }),
      },
    );
};

const HEALTHZ = named('Healthz', { status: t.Literal('ok'), service: t.String() });
const CHECK_STATUS = namedWords('CheckStatus', ['ok', 'degraded', 'fail'], 'the outcome of a check');
const READINESS_CHECK = t.Object(
  { status: CHECK_STATUS },
  { $id: 'ReadinessCheck', additionalProperties: true, description: 'further members depend on the check' },
);
const READINESS = named('Readiness', {
  status: CHECK_STATUS,
  service: t.String(),
  time: time(),
  durationMs: count(),
  checks: t.Record(t.String(), READINESS_CHECK),
});
const HEALTH = named('Health', {
  status: t.Literal('ok'),
  service: t.String(),
  version: t.String(),
  network: t.String(),
  time: time(),
  uptime: count('seconds'),
  ready: t.Boolean({ description: 'the last result of /readyz' }),
});
