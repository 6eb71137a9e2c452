import { ApiError } from '../http/errors.ts';
import type { Owner } from '../http/owner.ts';
import { type Counts, LocalCounts } from '../util/counts.ts';

/** Counts the unanswered requests of each principal. */
export class ParallelRequests {
  readonly #most: () => number;
  readonly #what: string;
  readonly #running: Counts;
  /** Distinguishes the counts in shared ones. */
  readonly #prefix: string;

  /**
   * `most` returns the present limit. `what` names the counted requests in the error text. `shared` are the counts of all
   * fronts.
   */
  constructor(most: () => number, what: string, shared: Counts | null = null) {
    this.#most = most;
    this.#what = what;
    this.#running = shared ?? new LocalCounts();
    this.#prefix = shared ? `${what} ` : '';
  }

  /** Counts a request until `end` is called. Throws ApiError `rate_limited` at the limit. */
  begin(owner: Owner): void {
    const most = this.#most();
    if (!this.#running.add(this.#nameOf(owner), most))
      throw new ApiError('rate_limited', `more than ${most} ${this.#what} of one key at a time`, {
        scope: 'parallel',
        retryAfter: 1,
      });
  }

  /** Ends the count of one request. */
  end(owner: Owner): void {
    this.#running.subtract(this.#nameOf(owner));
  }

  /** Runs `answer` and counts it until it has a reply. Throws ApiError `rate_limited` at the limit. */
  run<T>(owner: Owner, answer: () => T | Promise<T>): T | Promise<T> {
    this.begin(owner);
    let reply: T | Promise<T>;
    try {
      reply = answer();
    } catch (error) {
      this.end(owner);
      throw error;
    }
    if (!(reply instanceof Promise)) {
      this.end(owner);
      return reply;
    }
    return reply.finally(() => this.end(owner));
  }

  #nameOf(owner: Owner): string {
    return this.#prefix === '' ? owner : this.#prefix + owner;
  }
}
