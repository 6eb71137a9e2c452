import type { ParsedTransaction } from '../../primitives/block.ts';
import { hashToHex } from '../../primitives/hash.ts';

/** Limits of the queue: transactions as in Core, and their bytes. */
const MAX_TRANSACTIONS = 10_000;
const MAX_BYTES = 100_000_000;
/** Number of peers to which a transaction is sent; beyond it the transaction stays in the queue and is not sent again. */
const MAX_ATTEMPTS = 1000;
/** Time until a transaction is sent again: without a peer that received it, and after the last one. */
const NEVER_RECEIVED_MS = 5 * 60_000;
const NOT_RETURNED_MS = 60_000;

/** A transaction as it was sent to one peer. Times are Unix milliseconds. */
export interface PrivateAttempt {
  /** Address and port of the peer. */
  readonly address: string;
  readonly sentAt: number;
  /** The time at which the peer confirmed that it received the transaction; null before. */
  receivedAt: number | null;
}

/** A transaction that is broadcast privately. */
export interface PrivateTransaction {
  readonly parsed: ParsedTransaction;
  readonly addedAt: number;
  readonly attempts: readonly PrivateAttempt[];
  /** Number of peers to which it may still be sent. */
  readonly attemptsLeft: number;
}

interface Entry {
  readonly parsed: ParsedTransaction;
  addedAt: number;
  attempts: PrivateAttempt[];
  /** Number of peers that received it, and the last time. */
  received: number;
  lastReceivedAt: number;
}

type AddOutcome = 'added' | 'known' | 'full';

/**
 * Transactions that are sent to a few peers on connections of their own, and to none otherwise, until they come back from the
 * network (Core's PrivateBroadcast).
 */
export class PrivateQueue {
  /** By wtxid in hex. */
  readonly #entries = new Map<string, Entry>();
  /** The transaction of each connection, by the number of the peer. */
  readonly #byPeer = new Map<number, { readonly entry: Entry; readonly attempt: PrivateAttempt }>();
  #bytes = 0;

  /** Adds a transaction, or lets one that was sent to too many peers begin again. */
  add(parsed: ParsedTransaction, nowMs: number): AddOutcome {
    const key = hashToHex(parsed.wtxid);
    const known = this.#entries.get(key);
    if (known !== undefined) {
      if (isPending(known)) return 'known';
      Object.assign(known, { addedAt: nowMs, attempts: [], received: 0, lastReceivedAt: 0 });
      return 'added';
    }
    if (this.#entries.size >= MAX_TRANSACTIONS || this.#bytes + parsed.raw.length > MAX_BYTES) return 'full';
    this.#entries.set(key, { parsed, addedAt: nowMs, attempts: [], received: 0, lastReceivedAt: 0 });
    this.#bytes += parsed.raw.length;
    return 'added';
  }

  /** Removes a transaction. Returns the number of peers that received it, or null if it is not here. */
  remove(wtxid: Uint8Array): number | null {
    const key = hashToHex(wtxid as ParsedTransaction['wtxid']);
    const entry = this.#entries.get(key);
    if (entry === undefined) return null;
    this.#entries.delete(key);
    this.#bytes -= entry.parsed.raw.length;
    return entry.received;
  }

  /** Returns the transactions with an id, which is a txid or a wtxid. */
  withId(id: Uint8Array): ParsedTransaction[] {
    const isIt = (hash: Uint8Array) => Buffer.from(hash.buffer, hash.byteOffset, hash.length).equals(id);
    return Array.from(this.#entries.values(), ({ parsed }) => parsed).filter(
      ({ txid, wtxid }) => isIt(txid) || isIt(wtxid),
    );
  }

  /**
   * Chooses the transaction that was sent to the fewest peers, and records that it is sent to a peer. A peer gets only one,
   * since two would belong together. Returns null where none is left to be sent.
   */
  assign(peer: number, address: string, nowMs: number): ParsedTransaction | null {
    if (this.#byPeer.has(peer)) return null;
    let best: Entry | null = null;
    for (const entry of this.#entries.values())
      if (isPending(entry) && (best === null || isMoreUrgent(entry, best))) best = entry;
    if (best === null) return null;
    const attempt: PrivateAttempt = { address, sentAt: nowMs, receivedAt: null };
    best.attempts.push(attempt);
    this.#byPeer.set(peer, { entry: best, attempt });
    return best.parsed;
  }

  /** Returns the transaction that was assigned to a peer; null for none. */
  assignedTo(peer: number): ParsedTransaction | null {
    const entry = this.#byPeer.get(peer)?.entry;
    // Not one that was removed meanwhile.
    return entry !== undefined && this.#entries.get(hashToHex(entry.parsed.wtxid)) === entry ? entry.parsed : null;
  }

  /** Records that a peer has received its transaction. */
  confirm(peer: number, nowMs: number): void {
    const assigned = this.#byPeer.get(peer);
    if (assigned === undefined || assigned.attempt.receivedAt !== null) return;
    assigned.attempt.receivedAt = nowMs;
    assigned.entry.received++;
    assigned.entry.lastReceivedAt = nowMs;
  }

  /** Forgets a connection. Returns whether its peer had confirmed that it received a transaction. */
  forgetPeer(peer: number): boolean {
    const assigned = this.#byPeer.get(peer);
    this.#byPeer.delete(peer);
    return assigned !== undefined && assigned.attempt.receivedAt !== null;
  }

  /** Whether there is a transaction that may be sent to further peers. */
  get hasPending(): boolean {
    for (const entry of this.#entries.values()) if (isPending(entry)) return true;
    return false;
  }

  /** Returns the transactions that have not come back from the network in time. */
  stale(nowMs: number): ParsedTransaction[] {
    const found: ParsedTransaction[] = [];
    for (const entry of this.#entries.values()) {
      if (!isPending(entry)) continue;
      const { received, addedAt, lastReceivedAt, parsed } = entry;
      if (received === 0 ? addedAt < nowMs - NEVER_RECEIVED_MS : lastReceivedAt < nowMs - NOT_RETURNED_MS)
        found.push(parsed);
    }
    return found;
  }

  list(): PrivateTransaction[] {
    return Array.from(this.#entries.values(), ({ parsed, addedAt, attempts }) => ({
      parsed,
      addedAt,
      attempts: attempts.map((attempt) => ({ ...attempt })),
      attemptsLeft: MAX_ATTEMPTS - attempts.length,
    }));
  }
}

function isPending({ attempts }: Entry): boolean {
  return attempts.length < MAX_ATTEMPTS;
}

/** Fewer peers come first, then fewer that received it, then the one that has waited longer. */
function isMoreUrgent(a: Entry, b: Entry): boolean {
  const order =
    a.attempts.length - b.attempts.length ||
    a.received - b.received ||
    lastSentAt(a) - lastSentAt(b) ||
    a.lastReceivedAt - b.lastReceivedAt;
  return order < 0;
}

function lastSentAt({ attempts }: Entry): number {
  return attempts.at(-1)?.sentAt ?? 0;
}
