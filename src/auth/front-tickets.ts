import type { Clock } from '../util/clock.ts';
import type { MaybePromise } from '../util/maybe-promise.ts';
import { type IssuedTicket, type TicketOwner, Tickets } from './tickets.ts';

/** The calls to the front that owns the tickets. */
export interface TicketCalls {
  /** Rejects with ApiError when too many tickets are open. */
  issueTicket(owner: TicketOwner): Promise<IssuedTicket>;
  /** Resolves with the owner of a valid ticket; null for another text. */
  findTicket(text: string): Promise<TicketOwner | null>;
  /** Uses up a ticket. Resolves with false where it is no longer valid. */
  consumeTicket(text: string): Promise<boolean>;
}

/** Tickets as one front sees them. */
export class FrontTickets {
  readonly #tickets: Tickets;
  /** Null on the front that owns them. */
  readonly #owner: TicketCalls | null;

  constructor(clock: Clock, limits: { readonly perKey: number; readonly inAll: number }, owner: TicketCalls | null) {
    this.#tickets = new Tickets(clock, limits);
    this.#owner = owner;
  }

  /** Throws ApiError when too many tickets are open. */
  issueTicket({ id, secretId }: TicketOwner): MaybePromise<IssuedTicket> {
    return this.#owner?.issueTicket({ id, secretId }) ?? this.#tickets.issue({ id, secretId });
  }

  /** Returns the owner of a valid ticket; null for another text. */
  findTicket(text: string): MaybePromise<TicketOwner | null> {
    return this.#owner ? this.#owner.findTicket(text) : (this.#tickets.find(text)?.owner ?? null);
  }

  /** Uses up a ticket. Returns false where it is no longer valid. */
  consumeTicket(text: string): MaybePromise<boolean> {
    if (this.#owner) return this.#owner.consumeTicket(text);
    const ticket = this.#tickets.find(text);
    ticket?.consume();
    return ticket !== null;
  }

  /** Removes the tickets of owners that are no longer valid. */
  checkOwners(isLive: (owner: TicketOwner) => boolean): void {
    this.#tickets.check(isLive);
  }
}
