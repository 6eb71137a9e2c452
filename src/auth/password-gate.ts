import { randomBytes } from 'node:crypto';

/** The outcome of an attempt. A `dropped` one was not compared; `closing` asks to close the connection as well. */
export type Outcome<T> =
  | { readonly kind: 'right'; readonly value: T }
  | { readonly kind: 'wrong' | 'dropped'; readonly closing: boolean };

export interface Attempt<T> {
  /** The client address; attempts of one address share its comparisons. */
  readonly address: string;
  /** The user of the password. Within an address, attempts on one user cannot crowd out those on another. */
  readonly user: string;
  /** The compared text: equal texts have equal results. */
  readonly text: string;
  /** Compares the password; null for a wrong one. Called at most once. */
  compare(): T | null;
  /** Ends the attempt early. */
  readonly signal?: AbortSignal;
}

/** The clock, and delayed calls. */
export interface GateTimer {
  now(): number;
  /** Returns a function that cancels the call. */
  after(ms: number, call: () => void): () => void;
}

const hostTimer: GateTimer = {
  now: () => performance.now(),
  after(ms, call) {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
};

/** Milliseconds between two comparisons: 10 per second for one address, 64 in total. */
const ADDRESS_INTERVAL_MS = 100;
const INTERVAL_MS = 1000 / 64;
/** Time from a request to its refusal. */
const REFUSAL_MS = 250;
/** Time after which a queued attempt is dropped. */
const MAX_WAIT_MS = 10_000;
/** Limits of different attempts that wait, per address and in total. */
const MAX_QUEUED_PER_ADDRESS = 20;
const MAX_QUEUED = 400;
/** Limit of dropped attempts per address whose first arrival is remembered. */
const MAX_DROPPED = 2000;
/**
 * Limits of requests that wait for a comparison or for their refusal, per address and in total. A further one ends the
 * oldest.
 */
const MAX_HELD_PER_ADDRESS = 250;
const MAX_HELD = 1000;

interface Waiter<T> {
  readonly since: number;
  settle(outcome: Outcome<T>): void;
}

/** One password to compare, and all requests that wait for the result. */
interface Queued<T> {
  readonly digest: string;
  readonly attempt: Attempt<T>;
  readonly since: number;
  /** Time of the text's first arrival, even if it was dropped since. */
  readonly firstSeen: number;
  readonly waiters: Set<Waiter<T>>;
}

interface AddressQueue<T> {
  readonly queued: Queued<T>[];
  /** First arrivals of dropped texts by digest, most recently dropped last. */
  readonly dropped: Map<string, number>;
  /** Functions that end the delay of a refusal, oldest first. */
  readonly refusals: Set<() => void>;
  /** Earliest time of the next comparison. */
  nextAt: number;
  held: number;
}

/**
 * Limits the rate of password guesses. Comparisons follow a fixed schedule, round robin over addresses and in order of
 * arrival within each; a refusal takes at least 250 ms. A text that was right once passes at once from then on, so that
 * clients in use do not wait behind an attacker.
 */
export class PasswordGate<T> {
  readonly #timer: GateTimer;
  readonly #onCompared: (result: 'right' | 'wrong' | 'dropped') => void;
  readonly #hmac = new Bun.CryptoHasher('sha256', randomBytes(32));
  /** Values by digest, bounded by the number of valid passwords. */
  readonly #known = new Map<string, T>();
  /** Queues in round-robin order. */
  readonly #addresses = new Map<string, AddressQueue<T>>();
  #nextAt = 0;
  #queued = 0;
  #held = 0;
  #cancelTimer: (() => void) | null = null;
  #closed = false;

  constructor(onCompared: (result: 'right' | 'wrong' | 'dropped') => void, timer: GateTimer = hostTimer) {
    this.#onCompared = onCompared;
    this.#timer = timer;
  }

  /** Returns the value of a text that was right before, or null. */
  known(text: string): T | null {
    return this.#known.get(this.#digest(text)) ?? null;
  }

  /** Remembers a text that another front has found right. */
  remember(text: string, value: T): void {
    this.#known.set(this.#digest(text), value);
  }

  /** Resolves at once for a right password, and after the delay for every other outcome. */
  async check(attempt: Attempt<T>): Promise<Outcome<T>> {
    const digest = this.#digest(attempt.text);
    const value = this.#known.get(digest);
    if (value !== undefined) return { kind: 'right', value };
    return this.#hold(attempt.address, (queue, waiter) => {
      const queued = this.#enqueue(queue, digest, attempt);
      if (!queued) return waiter.settle(this.#drop());
      queued.waiters.add(waiter);
      attempt.signal?.addEventListener('abort', () => this.#leave(queue, queued, waiter), { once: true });
      this.#serve();
    });
  }

  /** Refuses an attempt that cannot be right, with the same delay but without queueing it. */
  async refuse(address: string): Promise<Outcome<T>> {
    return this.#hold(address, (_, waiter) => waiter.settle({ kind: 'wrong', closing: false }));
  }

  /** Ends all waits at once. */
  close(): void {
    this.#closed = true;
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    for (const { queued, refusals } of [...this.#addresses.values()]) {
      for (const entry of queued.splice(0)) this.#settle(entry, { kind: 'dropped', closing: true });
      for (const refuse of [...refusals]) refuse();
    }
    this.#queued = 0;
  }

  /** The digest is keyed, so that neither a copy of the map nor the time of a look-up reveals the text. */
  #digest(text: string): string {
    return this.#hmac.copy().update(text).digest('base64');
  }

  #hold(address: string, begin: (queue: AddressQueue<T>, waiter: Waiter<T>) => void): Promise<Outcome<T>> {
    const queue = this.#addresses.get(address) ?? {
      queued: [],
      dropped: new Map(),
      refusals: new Set(),
      nextAt: 0,
      held: 0,
    };
    if (this.#closed || !this.#makeRoom(queue)) {
      this.#onCompared('dropped');
      return Promise.resolve({ kind: 'dropped', closing: true });
    }
    if (!this.#addresses.has(address)) this.#addresses.set(address, queue);
    queue.held++;
    this.#held++;
    const { promise, resolve } = Promise.withResolvers<Outcome<T>>();
    const since = this.#timer.now();
    const finish = (outcome: Outcome<T>) => {
      queue.held--;
      this.#held--;
      this.#forgetIdle(address, queue);
      resolve(outcome);
    };
    begin(queue, {
      since,
      settle: (outcome) => {
        const left = since + REFUSAL_MS - this.#timer.now();
        if (outcome.kind === 'right' || this.#closed || left <= 0) finish(outcome);
        else this.#refuseAfter(queue, left, (early) => finish(early ? { ...outcome, closing: true } : outcome));
      },
    });
    return promise;
  }

  #refuseAfter({ refusals }: AddressQueue<T>, ms: number, finish: (early: boolean) => void): void {
    const end = (early: boolean) => {
      cancel();
      refusals.delete(endEarly);
      finish(early);
    };
    const endEarly = () => end(true);
    const cancel = this.#timer.after(ms, () => end(false));
    refusals.add(endEarly);
  }

  /** Sends the oldest refusal where too many requests are held; returns false where there is none. */
  #makeRoom(own: AddressQueue<T>): boolean {
    let from: AddressQueue<T> | null = null;
    if (own.held >= MAX_HELD_PER_ADDRESS) from = own;
    else if (this.#held >= MAX_HELD) {
      from = own;
      for (const queue of this.#addresses.values())
        if (queue.refusals.size > 0 && (from.refusals.size === 0 || queue.held > from.held)) from = queue;
    }
    if (!from) return true;
    const [oldest] = from.refusals;
    oldest?.();
    return oldest !== undefined;
  }

  /** Returns null where the queue is full. An equal text that waits already shares its comparison. */
  #enqueue(queue: AddressQueue<T>, digest: string, attempt: Attempt<T>): Queued<T> | null {
    const same = queue.queued.find((queued) => queued.digest === digest);
    if (same) return same;
    const since = this.#timer.now();
    const firstSeen = queue.dropped.get(digest) ?? since;
    const hasPlace =
      (queue.queued.length < MAX_QUEUED_PER_ADDRESS ||
        this.#dropOfBusiestUser(queue, attempt.user) ||
        this.#dropNewer(queue, firstSeen)) &&
      (this.#queued < MAX_QUEUED || this.#dropOfBusiestAddress(queue));
    if (!hasPlace) {
      remember(queue, digest, firstSeen);
      return null;
    }
    queue.dropped.delete(digest);
    const queued = { digest, attempt, since, firstSeen, waiters: new Set<Waiter<T>>() };
    queue.queued.push(queued);
    this.#queued++;
    return queued;
  }

  /**
   * Makes room by dropping an attempt of the same address's user with the most waiting attempts, if it has more than
   * this user would have.
   */
  #dropOfBusiestUser(queue: AddressQueue<T>, user: string): boolean {
    const counts = Map.groupBy(queue.queued, ({ attempt }) => attempt.user);
    const own = counts.get(user)?.length ?? 0;
    const most = [...counts.values()].reduce((a, b) => (b.length > a.length ? b : a));
    if (most.length <= own + 1) return false;
    this.#dropQueued(queue, most.at(-1)!);
    return true;
  }

  /** Makes room for a repeated text by dropping one that was first seen later, so that new guesses come after it. */
  #dropNewer(queue: AddressQueue<T>, firstSeen: number): boolean {
    const newest = queue.queued.reduce((a, b) => (b.firstSeen > a.firstSeen ? b : a));
    if (newest.firstSeen <= firstSeen) return false;
    this.#dropQueued(queue, newest);
    return true;
  }

  /**
   * Makes room by dropping an attempt of the address with the most waiting attempts, if it has more than this one would
   * have.
   */
  #dropOfBusiestAddress(own: AddressQueue<T>): boolean {
    let most = own;
    for (const queue of this.#addresses.values()) if (queue.queued.length > most.queued.length) most = queue;
    if (most.queued.length <= own.queued.length + 1) return false;
    this.#dropQueued(most, most.queued.at(-1)!);
    return true;
  }

  #dropQueued(queue: AddressQueue<T>, entry: Queued<T>): void {
    this.#remove(queue, entry);
    remember(queue, entry.digest, entry.firstSeen);
    this.#settle(entry, this.#drop());
  }

  #drop(): Outcome<T> {
    this.#onCompared('dropped');
    return { kind: 'dropped', closing: false };
  }

  #leave(queue: AddressQueue<T>, entry: Queued<T>, waiter: Waiter<T>): void {
    if (!entry.waiters.delete(waiter)) return;
    if (entry.waiters.size === 0) this.#remove(queue, entry);
    waiter.settle({ kind: 'dropped', closing: true });
  }

  #remove(queue: AddressQueue<T>, entry: Queued<T>): void {
    queue.queued.splice(queue.queued.indexOf(entry), 1);
    this.#queued--;
  }

  #settle({ waiters }: Queued<T>, outcome: Outcome<T>): void {
    for (const waiter of waiters) waiter.settle(outcome);
    waiters.clear();
  }

  /** Runs the comparisons whose time has come, and schedules the next one. */
  #serve(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    for (;;) {
      const now = this.#timer.now();
      const at = this.#nextDue(now);
      if (at === null) return;
      if (at > now) {
        this.#cancelTimer = this.#timer.after(at - now, () => this.#serve());
        return;
      }
    }
  }

  /**
   * Compares for the next address and returns `now`; else returns the time of the next comparison, or null where none
   * waits.
   */
  #nextDue(now: number): number | null {
    let earliest: number | null = null;
    for (const [address, queue] of this.#addresses) {
      while (queue.queued.length > 0 && now - queue.queued[0]!.since > MAX_WAIT_MS)
        this.#dropQueued(queue, queue.queued[0]!);
      this.#forgetIdle(address, queue);
      if (queue.queued.length === 0) continue;
      const at = Math.max(queue.nextAt, this.#nextAt);
      if (at <= now) {
        // The address moves behind the others.
        this.#addresses.delete(address);
        this.#addresses.set(address, queue);
        queue.nextAt = now + ADDRESS_INTERVAL_MS;
        this.#nextAt = now + INTERVAL_MS;
        this.#compare(queue, queue.queued[0]!);
        return now;
      }
      earliest = Math.min(earliest ?? at, at);
    }
    return earliest;
  }

  #compare(queue: AddressQueue<T>, entry: Queued<T>): void {
    this.#remove(queue, entry);
    const value = entry.attempt.compare();
    this.#onCompared(value === null ? 'wrong' : 'right');
    if (value !== null) this.#known.set(entry.digest, value);
    this.#settle(entry, value === null ? { kind: 'wrong', closing: false } : { kind: 'right', value });
  }

  /** An address is kept until it may compare again, since its limit would be lost otherwise. */
  #forgetIdle(address: string, queue: AddressQueue<T>): void {
    const idle = queue.held === 0 && queue.queued.length === 0 && queue.nextAt <= this.#timer.now();
    if (idle && this.#addresses.get(address) === queue) this.#addresses.delete(address);
  }
}

function remember({ dropped }: Pick<AddressQueue<unknown>, 'dropped'>, digest: string, firstSeen: number): void {
  dropped.delete(digest);
  dropped.set(digest, firstSeen);
  if (dropped.size > MAX_DROPPED) dropped.delete(dropped.keys().next().value!);
}
