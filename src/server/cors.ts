import { fail } from '../http/errors.ts';

const REQUEST_HEADERS = 'authorization, content-type, if-none-match, x-csrf-token, x-request-id';
const EXPOSED_HEADERS =
  'etag, link, ratelimit-limit, ratelimit-remaining, ratelimit-reset, retry-after, x-api-version, x-chain-hash, x-chain-height, x-node-syncing, x-request-id';

interface OriginOptions {
  readonly corsOrigins: readonly string[];
  readonly publicUrl: string | null;
}

/** Whether a browser page of this origin may use the interface. */
export function allowedOrigin(origin: string, { corsOrigins, publicUrl }: OriginOptions): boolean {
  return corsOrigins.includes(origin) || (publicUrl !== null && new URL(publicUrl).origin === origin);
}

/**
 * Answers OPTIONS without authentication, since browsers send no credentials with a preflight. `allow` lists the
 * methods of the path, and is null if the path does not exist.
 */
export function preflight(request: Request, allow: string | null, corsOrigins: readonly string[]): Response {
  if (allow === null) fail('not_found', 'no such route');
  const headers = new Headers({ allow });
  const origin = request.headers.get('origin');
  if (origin !== null && corsOrigins.includes(origin)) {
    headers.set('access-control-allow-methods', allow);
    headers.set('access-control-allow-headers', REQUEST_HEADERS);
    headers.set('access-control-max-age', '600');
  }
  return new Response(null, { status: 204, headers });
}

/**
 * Lets pages of the listed origins read the reply. Credentials are never allowed, since no cookie is meant for other
 * origins.
 */
export function corsHeaders(request: Request, headers: Headers, corsOrigins: readonly string[]): void {
  headers.append('vary', 'Origin');
  const origin = request.headers.get('origin');
  if (origin === null || !corsOrigins.includes(origin)) return;
  headers.set('access-control-allow-origin', origin);
  headers.set('access-control-expose-headers', EXPOSED_HEADERS);
}
