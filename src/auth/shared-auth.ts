import type { Principal } from '../http/principal.ts';
import type { MaybePromise } from '../util/maybe-promise.ts';
import type { Outcome } from './password-gate.ts';
import type { FailureCounts } from './rate-limits.ts';
import type { SharedBuckets } from './shared-rates.ts';
import type { IssuedTicket, TicketOwner } from './tickets.ts';

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

/** The part of the authentication that the first front carries out for all: its rates and tickets exist once. */
export interface AuthOwner {
  checkPassword(attempt: PasswordAttempt, signal: AbortSignal): Promise<Outcome<Principal>>;
  /** Rejects with ApiError when too many tickets are open. */
  issueTicket(owner: TicketOwner): Promise<IssuedTicket>;
  /** Resolves with the owner of a valid ticket; null for another text. */
  findTicket(text: string): Promise<TicketOwner | null>;
  /** Uses up a ticket. Resolves with false where it is no longer valid. */
  consumeTicket(text: string): Promise<boolean>;
}

/** The authentication of several fronts. */
export interface SharedAuth {
  readonly buckets: SharedBuckets;
  readonly failures: FailureCounts;
  /** Null on the first front. */
  readonly owner: AuthOwner | null;
  /** Resolves when the other fronts have reloaded the keys. */
  announceKeys(): Promise<void>;
}

/** A ticket that was presented. `consume` returns false where another connection has used it meanwhile. */
export interface TicketCheck<T> {
  readonly result: T;
  consume(): MaybePromise<boolean>;
}
