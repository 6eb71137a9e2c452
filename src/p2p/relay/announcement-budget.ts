import type { RelayFacts } from '../../mempool/relay.ts';
import { hashToHex, type Wtxid } from '../../primitives/hash.ts';
import { SteadyTokens } from '../../util/steady-tokens.ts';

/** Tokens of a burst, as seconds of the rate. */
const BURST_S = 30;
/**
 * Seconds of the rate, and bytes, that one step may use beyond the tokens, so that the backlog is sorted at most once in the
 * time of an average announcement.
 */
const STEP_S = 5;
const STEP_BYTES = 50_000;
/** Bytes per second: six times as many as blocks confirm. The cap passes large bursts, but not after every start. */
const BYTES_PER_S = 20_000;
const FIRST_BYTES = 12_000_000;
const MAX_BYTES = 50_000_000;
/** Limit of the backlog. The oldest transactions are dropped beyond it, as other peers announce them too. */
const MAX_BACKLOG = 20_000;

/** The state of a budget, for `getnetworkinfo`. */
export interface BudgetView {
  /** Number of transactions that wait. */
  readonly backlog: number;
  /** Transactions and bytes that may be announced now. */
  readonly countTokens: number;
  readonly byteTokens: number;
}

/** Returns the entries of the mempool among the transactions, in the order in which they are announced. */
export type OrderForAnnouncement = (wtxids: Iterable<Wtxid>) => readonly RelayFacts[];

/**
 * Limits the rate at which transactions are announced to the peers of one direction (Core's InvToSendBucket). A burst passes
 * at once; beyond it transactions wait, and those with the highest feerates come first.
 */
export class AnnouncementBudget {
  readonly #count: SteadyTokens;
  readonly #bytes: SteadyTokens;
  readonly #leastCount: number;
  /** By wtxid in hex, the oldest first. */
  readonly #backlog = new Map<string, Wtxid>();

  /** `rate`: transactions per second; `factor` multiplies it, and the bytes. */
  constructor(rate: number, factor: number) {
    this.#count = new SteadyTokens({ rate: rate * factor, initial: rate * BURST_S, cap: rate * BURST_S });
    this.#bytes = new SteadyTokens({ rate: BYTES_PER_S * factor, initial: FIRST_BYTES, cap: MAX_BYTES });
    this.#leastCount = -rate * STEP_S;
  }

  enqueue(wtxid: Wtxid): void {
    this.#backlog.set(hashToHex(wtxid), wtxid);
    if (this.#backlog.size > MAX_BACKLOG) this.#backlog.delete(this.#backlog.keys().next().value!);
  }

  /** Removes all transactions that wait, as when no peer is there to announce them to. */
  clear(): void {
    this.#backlog.clear();
  }

  /** Removes and returns the transactions that may be announced now; those that left the mempool are dropped. */
  release(nowMs: number, order: OrderForAnnouncement): Wtxid[] {
    this.#count.refill(nowMs);
    this.#bytes.refill(nowMs);
    if (this.#backlog.size === 0 || this.#count.value <= 0 || this.#bytes.value <= 0) return [];
    const present = order([...this.#backlog.values()]);
    const released: Wtxid[] = [];
    for (const { wtxid, size } of present) {
      if (this.#count.value <= this.#leastCount || this.#bytes.value <= -STEP_BYTES) break;
      this.#count.remove(1);
      this.#bytes.remove(size);
      released.push(wtxid);
    }
    this.#keepOnly(present.slice(released.length));
    return released;
  }

  view(): BudgetView {
    return { backlog: this.#backlog.size, countTokens: this.#count.value, byteTokens: this.#bytes.value };
  }

  /** Removes all transactions from the backlog but for `left`. */
  #keepOnly(left: readonly RelayFacts[]): void {
    const keep = new Set(left.map(({ wtxid }) => hashToHex(wtxid)));
    for (const key of [...this.#backlog.keys()]) if (!keep.has(key)) this.#backlog.delete(key);
  }
}
