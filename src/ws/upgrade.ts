import type { Server } from 'bun';
import type { Authenticator } from '../auth/authenticator.ts';
import { ApiError, fail } from '../http/errors.ts';
import type { ApiOptions } from '../http/options.ts';
import { requireOwnOrigin } from '../http/own-origin.ts';
import { ANONYMOUS, type Principal } from '../http/principal.ts';
import { hasScope } from '../http/scopes.ts';
import { sessionCookieOf } from '../http/session-cookie.ts';
import { type MaybePromise, whenReady } from '../util/maybe-promise.ts';
import type { Hub } from './hub.ts';
import type { SocketData } from './ws-connection.ts';

const SUBPROTOCOL = 'obverse.events.v1';

/** Upgrades a request for /ws to a WebSocket. Throws ApiError before the upgrade, so that a refusal is an HTTP reply. */
export function upgradeToWebSocket(
  request: Request,
  server: Pick<Server<SocketData>, 'upgrade'>,
  from: { readonly ip: string; readonly requestId: string },
  { options, auth, hub }: { options: ApiOptions; auth: Authenticator; hub: Hub },
): MaybePromise<undefined> {
  if (request.method !== 'GET')
    throw new ApiError('method_not_allowed', 'method not allowed here', null, { allow: 'GET' });
  if (request.headers.get('upgrade')?.toLowerCase() !== 'websocket')
    throw new ApiError('upgrade_required', 'this is a WebSocket', null, {
      upgrade: 'websocket',
      connection: 'Upgrade',
    });
  const protocols = offeredProtocols(request);
  return whenReady(authenticate(request, protocols, from.ip, options, auth), (admitted) =>
    upgradeAdmitted(request, server, from, admitted, protocols.includes(SUBPROTOCOL), hub),
  );
}

function upgradeAdmitted(
  request: Request,
  server: Pick<Server<SocketData>, 'upgrade'>,
  from: { readonly ip: string; readonly requestId: string },
  { principal, consume }: Admitted,
  withSubprotocol: boolean,
  hub: Hub,
): MaybePromise<undefined> {
  if (principal !== ANONYMOUS && !hasScope(principal.scopes, 'read'))
    fail('insufficient_scope', 'this needs the scope read', { required: 'read' });
  // Counted before the ticket is consumed, which may take a while: another upgrade would see the place as free.
  const countedAs = hub.reserve(principal, from.ip);
  const data: SocketData = { principal, ip: from.ip, requestId: from.requestId, countedAs, connection: null };
  const headers = new Headers({ 'x-request-id': from.requestId, 'x-api-version': '1' });
  // Only this subprotocol is selected, since the other offered one may be a key. By default Bun selects the first one.
  headers.set('sec-websocket-protocol', withSubprotocol ? SUBPROTOCOL : '');
  const upgrade = (isValid: boolean): undefined => {
    if (!isValid) fail('invalid_credentials', 'the credentials are not valid');
    if (server.upgrade(request, { data, headers })) return undefined;
    throw new ApiError('upgrade_required', 'the upgrade failed', null, { upgrade: 'websocket', connection: 'Upgrade' });
  };
  const failed = (error: unknown): never => {
    hub.release(countedAs);
    throw error;
  };
  try {
    // From here on only an invalid handshake fails.
    const upgraded = whenReady(consume(), upgrade);
    return upgraded instanceof Promise ? upgraded.catch(failed) : upgraded;
  } catch (error) {
    return failed(error);
  }
}

/**
 * Whether the request has credentials that a client adds on purpose: a key in the header or the subprotocol, or a ticket.
 * Wrong ones are rejected.
 */
export function carriesSocketCredential(request: Request): boolean {
  return (
    request.headers.get('authorization') !== null ||
    offeredProtocols(request).some(isOfferedKey) ||
    ticketOf(request.url) !== null
  );
}

function offeredProtocols(request: Request): string[] {
  return (request.headers.get('sec-websocket-protocol') ?? '').split(',').map((text) => text.trim());
}

function isOfferedKey(protocol: string): boolean {
  return protocol.startsWith('bearer.');
}

interface Admitted {
  readonly principal: Principal;
  /** Consumes the ticket that admitted the caller. Returns false where it is no longer valid. */
  consume(): MaybePromise<boolean>;
}

function authenticate(
  request: Request,
  protocols: readonly string[],
  ip: string,
  options: ApiOptions,
  auth: Authenticator,
): MaybePromise<Admitted> {
  const authorization = request.headers.get('authorization');
  const offered = protocols.find(isOfferedKey);
  const ticket = authorization === null && offered === undefined ? ticketOf(request.url) : null;
  if (ticket !== null) {
    // A ticket works from every origin: it is valid once, and a browser never sends it on its own.
    return whenReady(auth.authenticateTicket(ticket, ip), ({ result, consume }) => {
      if (!result.ok) throw result.error;
      return { principal: result.principal, consume };
    });
  }
  const nothing = () => true;
  if (authorization === null && offered === undefined) {
    const session = sessionCookieOf(request.headers.get('cookie'));
    if (session !== null) return authenticateSession(request, session, options, auth);
    if (options.ws.auth === 'public') return { principal: ANONYMOUS, consume: nothing };
  }
  if (authorization === null && offered !== undefined && request.headers.get('origin') !== null)
    fail('origin_not_allowed', 'a browser must not hold a key');
  const caller = { ip, request };
  const authentication =
    authorization === null && offered !== undefined
      ? auth.bearer(offered.slice('bearer.'.length), caller)
      : auth.authenticate(authorization, caller, null);
  return whenReady(authentication, (result) => {
    if (!result.ok) throw result.error;
    return { principal: result.principal, consume: nothing };
  });
}

/**
 * Checks the cookie of a session, which the browser adds on its own: a page of another origin must not read events with
 * it. Where the stream is public, such a page and one whose session has ended are clients without a credential.
 */
function authenticateSession(
  request: Request,
  session: string,
  { http, ws }: ApiOptions,
  auth: Authenticator,
): MaybePromise<Admitted> {
  const consume = () => true;
  const isPublic = ws.auth === 'public';
  try {
    requireOwnOrigin(request, http);
  } catch (error) {
    if (isPublic) return { principal: ANONYMOUS, consume };
    throw error;
  }
  return whenReady(auth.authenticateSession(session), (result) => {
    if (!result.ok && !isPublic) throw result.error;
    return { principal: result.ok ? result.principal : ANONYMOUS, consume };
  });
}

function ticketOf(url: string): string | null {
  const query = url.indexOf('?');
  return query < 0 ? null : new URLSearchParams(url.slice(query)).get('ticket');
}
