import { NODE, type Owner } from '../http/owner.ts';

/** Bounds how many fetches of one owner run at a time. Further ones wait in their order; the caller bounds their number. */
export class StatementLimiter {
  readonly #limit: number;
  readonly #running = new Map<Owner, number>();
  readonly #waiting = new Map<Owner, (() => void)[]>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Runs `work` when fewer than the limit of this owner run. Work of the server itself runs at once. */
  async run<T>(owner: Owner, work: () => Promise<T>): Promise<T> {
    if (owner === NODE) return work();
    const running = this.#running.get(owner) ?? 0;
    if (running < this.#limit) this.#running.set(owner, running + 1);
    else await this.#waitForEnd(owner);
    try {
      return await work();
    } finally {
      this.#end(owner);
    }
  }

  #waitForEnd(owner: Owner): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(owner);
    if (waiting) waiting.push(resolve);
    else this.#waiting.set(owner, [resolve]);
    return promise;
  }

  /** Lets the next one of the owner run, if one waits. */
  #end(owner: Owner): void {
    const waiting = this.#waiting.get(owner);
    const next = waiting?.shift();
    if (waiting?.length === 0) this.#waiting.delete(owner);
    const left = this.#running.get(owner)! - (next ? 0 : 1);
    if (next) next();
    else if (left > 0) this.#running.set(owner, left);
    else this.#running.delete(owner);
  }
}
