import type { Principal } from './principal.ts';
import type { Scope } from './scopes.ts';

/** One request as the gate saw it, before any handler ran. */
export interface Call {
  readonly requestId: string;
  readonly principal: Principal;
  /** Without an IPv4-mapped prefix. */
  readonly ip: string;
  /** Throws ApiError `insufficient_scope` unless the caller holds the scope. */
  require(scope: Scope): void;
  /** Takes `cost` more from the caller's allowance (1 is already taken). Throws ApiError `rate_limited`. */
  charge(cost: number): void;
}

/** A request that runs as long as its key may make it. */
export interface Following {
  /** Aborts with an ApiError when the key may no longer make this request. */
  readonly signal: AbortSignal;
  /** To be called when the request is over. */
  end(): void;
}
