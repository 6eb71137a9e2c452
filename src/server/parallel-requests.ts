import { ApiError } from '../http/errors.ts';
import type { Owner } from '../http/owner.ts';

/** Counts the unanswered requests of each principal. */
export class ParallelRequests {
  readonly #most: number;
  readonly #what: string;
  readonly #running = new Map<Owner, number>();

  /** `what` names the counted requests in the error text. */
  constructor(most: number, what: string) {
    this.#most = most;
    this.#what = what;
  }

  /** Counts a request until `end` is called. Throws ApiError `rate_limited` at the limit. */
  begin(owner: Owner): void {
    const running = this.#running.get(owner) ?? 0;
    if (running >= this.#most)
      throw new ApiError('rate_limited', `more than ${this.#most} ${this.#what} of one key at a time`, {
        scope: 'parallel',
        retryAfter: 1,
      });
    this.#running.set(owner, running + 1);
  }

  /** Ends the count of one request. */
  end(owner: Owner): void {
    const left = this.#running.get(owner)! - 1;
    if (left > 0) this.#running.set(owner, left);
    else this.#running.delete(owner);
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
}
