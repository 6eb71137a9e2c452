import { OUTCOME_OK } from '../auth/audit/audit-store.ts';
import { TokenBucket } from '../auth/rate-limits.ts';
import { ApiError, fail } from '../http/errors.ts';
import { invalid } from '../http/input.ts';
import { isPlainLoopback, isPlainRemote, requireOwnOrigin } from '../http/own-origin.ts';
import { json } from '../http/route-description.ts';
import { csrfTokenOf, sessionCookie, sessionCookieOf } from '../http/session-cookie.ts';
import { hostClock, unixSeconds } from '../util/clock.ts';
import { endpoint } from './endpoint.ts';
import { readJsonBody, uncachedJson } from './json-body.ts';
import type { RestContext } from './rest-context.ts';
import { LOGGED_IN, LOGGED_OUT, LOGIN, SESSION } from './schemas/session-schemas.ts';

const ON_EACH = { path: '/api/session', tag: 'operations' } as const;
const BODY_BYTES = 1024;
const MAX_VALUES = 16;
const MAX_CODE = 64;
/** Failed codes in the audit log: anonymous clients must not make its oldest rows disappear. */
const FAILURES_RECORDED = { perSecond: 1 / 6, burst: 10 } as const;

/** Opens the session of a one-time code. The cookie of the reply is the credential; no page can read it. */
export const logInEndpoint = endpoint({
  ...ON_EACH,
  name: 'log-in',
  method: 'POST',
  summary: 'Open a session with a code that `obverse login` prints',
  description:
    'The reply sets the cookie `obverse_session`, which counts for /api, /metrics and /ws, and never for JSON-RPC. A ' +
    'session ends after eight hours, or thirty minutes without a request; with the scope admin after thirty minutes.',
  access: 'public',
  body: [json(LOGIN)],
  bodyLimit: BODY_BYTES,
  response: json(LOGGED_IN),
  errors: ['invalid_parameter', 'invalid_credentials', 'origin_not_allowed'],
  serve: (ctx) => {
    const recorded = new TokenBucket(FAILURES_RECORDED, hostClock);
    return async ({ request }) => {
      requireSecurePage(ctx, request);
      const code = await readCode(request);
      const { ip } = ctx.call(request);
      const result = await ctx.sessions.logIn(code, ip, sessionCookieOf(request.headers.get('cookie')));
      if (result.kind === 'ok') {
        const { cookie, maxAge, session } = result;
        recordCall(ctx, request, { who: session.id, method: 'login', outcome: OUTCOME_OK });
        const isPlain = isPlainLoopback(request, ctx.options.http);
        const { expiresAt, scopes } = session;
        return withCookie({ expiresAt, scopes }, sessionCookie(cookie, { maxAge, isPlain }));
      }
      if (result.kind === 'limited') {
        const { retryAfter } = result;
        throw new ApiError('rate_limited', 'too many attempts to log in', { scope: 'login', retryAfter });
      }
      if (recorded.consume(1))
        recordCall(ctx, request, { who: 'anonymous', method: 'login', outcome: 'invalid_credentials' });
      return fail('invalid_credentials', 'the code is not valid: obverse login prints a new one');
    };
  },
});

export const sessionEndpoint = endpoint({
  ...ON_EACH,
  name: 'session',
  summary: 'The session of the cookie, with the token that a page sends with every POST and DELETE',
  access: 'session',
  response: json(SESSION),
  serve:
    (ctx) =>
    async ({ request }) => {
      const session = await ctx.sessions.sessionOfId(ctx.call(request).principal.id);
      const cookie = sessionCookieOf(request.headers.get('cookie'));
      // The session may have ended since the request was admitted.
      if (!session || cookie === null) return fail('invalid_credentials', 'the session has ended');
      const { id, expiresAt, idleExpiresAt, scopes } = session;
      return uncachedJson({ id, expiresAt, idleExpiresAt, scopes, csrfToken: csrfTokenOf(cookie) });
    },
});

export const logOutEndpoint = endpoint({
  ...ON_EACH,
  name: 'log-out',
  method: 'DELETE',
  summary: 'End the session of the cookie, with its WebSockets',
  access: 'session',
  response: json(LOGGED_OUT),
  serve:
    (ctx) =>
    async ({ request }) => {
      const { id } = ctx.call(request).principal;
      const ended = await ctx.sessions.endSession(id);
      recordCall(ctx, request, { who: id, method: 'logout', outcome: OUTCOME_OK });
      const isPlain = isPlainLoopback(request, ctx.options.http);
      return withCookie({ ended }, sessionCookie('', { maxAge: 0, isPlain }));
    },
});

/** Throws ApiError for a page of another server, and for one that a browser has loaded over a network in clear. */
function requireSecurePage({ options }: RestContext, request: Request): void {
  if (request.headers.get('origin') === null) return;
  requireOwnOrigin(request, options.http);
  if (isPlainRemote(request))
    fail(
      'origin_not_allowed',
      'a login over plain HTTP works on loopback alone: use https://, or a tunnel to this host such as ssh -L',
    );
}

async function readCode(request: Request): Promise<string> {
  const body = await readJsonBody(request, { types: ['application/json'], maxValues: MAX_VALUES });
  const code = typeof body === 'object' && body !== null && 'code' in body ? body.code : undefined;
  return typeof code === 'string' && code.length <= MAX_CODE
    ? code
    : invalid('code', `must be a text of at most ${MAX_CODE} characters`);
}

function recordCall(
  ctx: RestContext,
  request: Request,
  { who, method, outcome }: { readonly who: string; readonly method: 'login' | 'logout'; readonly outcome: string },
): void {
  const { ip, requestId } = ctx.call(request);
  const time = unixSeconds(hostClock);
  ctx.audit.record({ time, who, ip, requestId, method, wallet: null }, { outcome, keyId: null, txid: null });
}

function withCookie(body: object, cookie: string): Response {
  const reply = uncachedJson(body);
  reply.headers.set('set-cookie', cookie);
  return reply;
}
