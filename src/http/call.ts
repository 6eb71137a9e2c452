import type { Principal } from './principal.ts';
import type { Scope } from './scopes.ts';

/** A request as it was admitted, before any handler runs. */
export interface Call {
  readonly requestId: string;
  readonly principal: Principal;
  /** Without an IPv4-mapped prefix. */
  readonly ip: string;
  /** Throws ApiError `insufficient_scope` unless the caller holds the scope. */
  require(scope: Scope): void;
  /**
   * Consumes `cost` more tokens of the caller's rate limit; one is consumed already. Throws ApiError `rate_limited`.
   */
  charge(cost: number): void;
}

/** A request that may run as long as its key allows it. */
export interface Following {
  /** Aborts with an ApiError when the key may no longer make this request. */
  readonly signal: AbortSignal;
  /** Called when the request has ended. */
  end(): void;
}
