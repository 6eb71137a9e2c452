import type { DocumentDecoration } from 'elysia';
import type { Scope } from './scopes.ts';

/** `rpc`: a key or HTTP Basic, scopes are looked at per method. `open`: no credentials and no limit. */
export type Access = Scope | 'public' | 'open' | 'rpc';

export interface RouteAccess extends DocumentDecoration {
  readonly 'x-access': Access;
  /** Bytes. */
  readonly 'x-body-limit'?: number;
  /** Answers while the node is still starting. */
  readonly 'x-while-starting'?: boolean;
  /** Sets no limit on the time of the reply. */
  readonly 'x-unlimited-time'?: boolean;
}

/** What the description says of credentials; the rest needs what all of it needs, a key. */
const SECURITY: { readonly [K in Access]?: Pick<DocumentDecoration, 'security'> } = {
  open: { security: [] },
  public: { security: [] },
  rpc: { security: [{ bearer: [] }, { basic: [] }] },
};

/** Goes into the `detail` of a route: who may call it, and its limits. Routes under /api without it need `read`. */
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
