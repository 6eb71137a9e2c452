import { isLoopback } from '../util/ip-address.ts';
import { ApiError, fail } from './errors.ts';
import type { ApiOptions } from './options.ts';

type OwnAddress = Pick<ApiOptions['http'], 'publicUrl' | 'tls'>;

/**
 * Throws ApiError `origin_not_allowed` unless the request comes from a page of this server, as its `Origin` says. The
 * origins of `http.corsOrigins` do not count: their pages use no session.
 */
export function requireOwnOrigin(request: Request, http: OwnAddress): void {
  const origin = request.headers.get('origin');
  if (origin === null) fail('origin_not_allowed', 'a request with a session needs the header Origin');
  if (!isOwnOrigin(origin, request, http))
    throw new ApiError(
      'origin_not_allowed',
      'Origin is another server; behind a proxy, http.publicUrl names its origin',
    );
}

function isOwnOrigin(origin: string, request: Request, { publicUrl, tls }: OwnAddress): boolean {
  if (publicUrl !== null && new URL(publicUrl).origin === origin) return true;
  return hostUrl(request, tls === null ? 'http' : 'https')?.origin === origin;
}

/**
 * Whether the browser of a request reaches this server over plain HTTP on its own host. Other browsers keep a cookie with
 * `Secure` only over TLS.
 */
export function isPlainLoopback(request: Request, { tls }: OwnAddress): boolean {
  if (tls !== null || request.headers.get('origin')?.startsWith('https:')) return false;
  return isLoopbackName(hostUrl(request, 'http')?.hostname ?? '');
}

/** Whether a page was loaded over plain HTTP from another host, so that the browser would drop a cookie with `Secure`. */
export function isPlainRemote(request: Request): boolean {
  const origin = request.headers.get('origin');
  return origin?.startsWith('http:') === true && !isLoopbackName(new URL(origin).hostname);
}

function hostUrl(request: Request, scheme: 'http' | 'https'): URL | null {
  return URL.parse(`${scheme}://${request.headers.get('host') ?? ''}`);
}

function isLoopbackName(hostname: string): boolean {
  return hostname === 'localhost' || hostname.endsWith('.localhost') || isLoopback(hostname.replace(/^\[|\]$/g, ''));
}
