import type { DocumentDecoration } from 'elysia';
import type { Scope } from './scopes.ts';

/**
 * `rpc`: a key or HTTP Basic, with scopes checked per method. `session`: the cookie of a session, whatever its scopes.
 * `open`: no credentials and no limit.
 */
export type Access = Scope | 'public' | 'open' | 'rpc' | 'session';

export interface RouteAccess extends DocumentDecoration {
  readonly 'x-access': Access;
  /** Limit of the body in bytes. */
  readonly 'x-body-limit'?: number;
  /** Whether the route is served while the node is starting. */
  readonly 'x-while-starting'?: boolean;
  /** Whether the reply has no time limit. */
  readonly 'x-unlimited-time'?: boolean;
}

/** Security of the routes that differ from the default, which is a key. */
const SECURITY: { readonly [K in Access]?: Pick<DocumentDecoration, 'security'> } = {
  open: { security: [] },
  public: { security: [] },
  // No session has this scope.
  webhooks: { security: [{ bearer: [] }] },
  rpc: { security: [{ bearer: [] }, { basic: [] }] },
  session: { security: [{ session: [] }] },
};

/**
 * Returns the access part of a route's `detail`: the scope it needs, and its limits. Routes under /api without it need
 * `read`.
 */
export function access(
  who: Access,
  limits: { bodyLimit?: number; whileStarting?: boolean; unlimitedTime?: boolean } = {},
): RouteAccess {
  return {
    'x-access': who,
    ...SECURITY[who],
    ...(limits.bodyLimit !== undefined && { 'x-body-limit': limits.bodyLimit }),
    ...(limits.whileStarting && { 'x-while-starting': true }),
    ...(limits.unlimitedTime && { 'x-unlimited-time': true }),
  };
}
