import type { Clock } from '../util/clock.ts';

export interface RelayTurnsDeps {
  /** Does work when nothing is half connected, and tells what it changed. */
  readonly settled: <T>(work: () => T) => Promise<T>;
  readonly clock: Clock;
}

export interface RelayTurnsLimits {
  readonly count: number;
  readonly bytes: number;
}

/** Peers wait for an answer before they send more, so this is only reached where somebody does not. */
const RELAY_TURNS_LIMITS: RelayTurnsLimits = { count: 2_000, bytes: 64 << 20 };
/** How long one turn may take, before blocks and messages have theirs. */
const TURN_MS = 10;

interface Job {
  readonly bytes: number;
  readonly run: () => void;
  readonly settle: () => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Judgements of what peers send, as many to a turn as there is time for: to wait for the chain with each of them would
 * cost more than the judgement. In the order in which they came.
 */
export class RelayTurns {
  readonly #deps: RelayTurnsDeps;
  readonly #limits: RelayTurnsLimits;
  #jobs: Job[] = [];
  #bytes = 0;
  #running = false;

  constructor(deps: RelayTurnsDeps, limits: RelayTurnsLimits = RELAY_TURNS_LIMITS) {
    this.#deps = deps;
    this.#limits = limits;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#jobs.length;
  }

  /** The result of `judge`, which is run in a turn; null, and it is not run, where too much waits already. */
  add<T>(bytes: number, judge: () => T): Promise<T | null> {
    const { count, bytes: most } = this.#limits;
    if (this.#jobs.length >= count || this.#bytes + bytes > most) return Promise.resolve(null);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    let outcome: { readonly value: T } | { readonly error: unknown };
    this.#bytes += bytes;
    this.#jobs.push({
      bytes,
      run: () => {
        try {
          outcome = { value: judge() };
        } catch (error) {
          outcome = { error };
        }
      },
      settle: () => ('error' in outcome ? reject(outcome.error) : resolve(outcome.value)),
      fail: reject,
    });
    if (!this.#running) void this.#turns();
    return promise;
  }

  async #turns(): Promise<void> {
    this.#running = true;
    // What comes within the same turn of the loop is judged with it.
    await Promise.resolve();
    while (this.#jobs.length > 0) {
      let done: readonly Job[] = [];
      try {
        await this.#deps.settled(() => (done = this.#judge()));
        for (const job of done) job.settle();
      } catch (error) {
        // The chain takes no more: nobody else would answer those that wait.
        for (const job of [...done, ...this.#take(this.#jobs.length)]) job.fail(error);
      }
      await new Promise(setImmediate);
    }
    this.#running = false;
  }

  #judge(): readonly Job[] {
    const { clock } = this.#deps;
    const startedAt = clock.monotonicMs();
    let count = 0;
    for (const job of this.#jobs) {
      job.run();
      count++;
      if (clock.monotonicMs() - startedAt >= TURN_MS) break;
    }
    return this.#take(count);
  }

  #take(count: number): readonly Job[] {
    const taken = this.#jobs.slice(0, count);
    this.#jobs = this.#jobs.slice(count);
    for (const { bytes } of taken) this.#bytes -= bytes;
    return taken;
  }
}
