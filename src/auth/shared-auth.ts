import type { Principal } from '../http/principal.ts';
import type { MaybePromise } from '../util/maybe-promise.ts';
import type { TicketCalls } from './front-tickets.ts';
import type { Outcome } from './password-gate.ts';
import type { FailureCounts, RateBuckets } from './rate-limits.ts';
import type { SessionCalls } from './session-keeper.ts';

/** A password or static key to compare. `none` cannot be right, and is refused after the same delay. */
export type PasswordAttempt =
  | { readonly kind: 'bearer'; readonly text: string; readonly address: string }
  | {
      readonly kind: 'basic';
      readonly user: string;
      readonly password: string;
      readonly isLocal: boolean;
      readonly address: string;
    }
  | { readonly kind: 'none'; readonly address: string };

/** The part of the authentication that the first front carries out for all: rates, tickets and sessions exist once. */
export interface AuthOwner extends TicketCalls, SessionCalls {
  checkPassword(attempt: PasswordAttempt, signal: AbortSignal): Promise<Outcome<Principal>>;
}

/** The authentication of several fronts. */
export interface SharedAuth {
  readonly buckets: RateBuckets;
  readonly failures: FailureCounts;
  /** Null on the first front. */
  readonly owner: AuthOwner | null;
  /** Resolves when the other fronts have reloaded the keys. */
  announceKeys(): Promise<void>;
  /** Resolves when the other fronts have closed what belongs to these sessions. */
  announceEndedSessions(ids: readonly string[]): Promise<void>;
}

/** A ticket that was presented. `consume` returns false where another connection has used it meanwhile. */
export interface TicketCheck<T> {
  readonly result: T;
  consume(): MaybePromise<boolean>;
}
