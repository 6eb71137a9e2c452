import { randomBytes } from 'node:crypto';
import { sha256 } from '../crypto/hash-functions.ts';
import { fail } from '../http/errors.ts';
import type { Principal } from '../http/principal.ts';
import type { Clock } from '../util/clock.ts';

/** The reply to a ticket request; the ticket itself is not stored. */
export interface IssuedTicket {
  readonly ticket: string;
  /** Unix seconds. */
  readonly expiresAt: number;
}

/** The owner of a ticket: a key, and the secret it was requested with. */
export type TicketOwner = Pick<Principal, 'id' | 'secretId'>;

/** A valid ticket. */
export interface OpenTicket {
  readonly owner: TicketOwner;
  /** Marks the ticket as used. */
  consume(): void;
}

interface Kept {
  readonly owner: TicketOwner;
  /** Monotonic time. */
  readonly until: number;
}

const LIFETIME_MS = 60_000;
const SECRET_BYTES = 32;
const FORMAT = /^obvt_[A-Za-z0-9_-]{43}$/;

/**
 * Tickets that open one WebSocket each, for pages that must not hold a key. Only hashes are stored and looked up, so
 * the time of a look-up reveals nothing about valid tickets.
 */
export class Tickets {
  readonly #clock: Clock;
  readonly #limits: { readonly perKey: number; readonly inAll: number };
  /** Tickets in the order in which they expire. */
  readonly #open = new Map<string, Kept>();
  readonly #byOwner = new Map<string, number>();

  constructor(clock: Clock, limits: { readonly perKey: number; readonly inAll: number }) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Number of unused tickets. */
  get size(): number {
    this.#expire();
    return this.#open.size;
  }

  /**
   * Throws ApiError where too many tickets are open, of one key or in total. Issued tickets stay valid, and the next
   * one can be issued within a minute.
   */
  issue({ id, secretId }: TicketOwner): IssuedTicket {
    this.#expire();
    const { perKey, inAll } = this.#limits;
    if ((this.#byOwner.get(id) ?? 0) >= perKey)
      fail('rate_limited', 'this key has too many unused tickets', {
        scope: 'tickets',
        retryAfter: this.#freeIn(id),
      });
    if (this.#open.size >= inAll) fail('overloaded', 'there are too many unused tickets');
    const ticket = `obvt_${randomBytes(SECRET_BYTES).toString('base64url')}`;
    this.#open.set(hashOf(ticket), { owner: { id, secretId }, until: this.#clock.monotonicMs() + LIFETIME_MS });
    this.#byOwner.set(id, (this.#byOwner.get(id) ?? 0) + 1);
    return { ticket, expiresAt: Math.floor((this.#clock.nowMs() + LIFETIME_MS) / 1000) };
  }

  /** Returns null for a text that is not a valid ticket. */
  find(text: string): OpenTicket | null {
    this.#expire();
    if (!FORMAT.test(text)) return null;
    const hash = hashOf(text);
    const kept = this.#open.get(hash);
    return kept ? { owner: kept.owner, consume: () => this.#drop(hash, kept) } : null;
  }

  /** Removes the tickets of a key or secret that is no longer valid. */
  check(isLive: (owner: TicketOwner) => boolean): void {
    for (const [hash, kept] of this.#open) if (!isLive(kept.owner)) this.#drop(hash, kept);
  }

  #expire(): void {
    const now = this.#clock.monotonicMs();
    for (const [hash, kept] of this.#open) {
      if (now < kept.until) return;
      this.#drop(hash, kept);
    }
  }

  #drop(hash: string, { owner }: Kept): void {
    if (!this.#open.delete(hash)) return;
    const left = this.#byOwner.get(owner.id)! - 1;
    if (left > 0) this.#byOwner.set(owner.id, left);
    else this.#byOwner.delete(owner.id);
  }

  /** Seconds until another ticket can be issued to this key. */
  #freeIn(id: string): number {
    for (const kept of this.#open.values())
      if (kept.owner.id === id) return Math.max(1, Math.ceil((kept.until - this.#clock.monotonicMs()) / 1000));
    return 1;
  }
}

function hashOf(ticket: string): string {
  return sha256(new TextEncoder().encode(ticket)).toHex();
}
