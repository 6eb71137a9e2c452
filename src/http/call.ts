import type { Principal } from './principal.ts';
import type { Scope } from './scopes.ts';

/** A rate limit and the part of it that is left. */
export interface RateUse {
  /** Calls per second, and the largest number that can accumulate. */
  readonly perSecond: number;
  readonly burst: number;
  /** Whole calls. */
  readonly remaining: number;
  /** Whole seconds until the whole burst is available. */
  readonly resetAfter: number;
}

/** A request as it was admitted, before any handler runs. */
export interface Call {
  readonly requestId: string;
  readonly principal: Principal;
  /** Without an IPv4-mapped prefix. */
  readonly ip: string;
  /** The rate limit of the caller; null without one. */
  readonly rate: RateUse | null;
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
