/** Fields of a front: whether it serves, so that calls wait for it, and the number. */
const FIELDS = 2;
/** Time limit of a wait: a front that hangs must not hold up the calls of the others for long, milliseconds. */
const LIMIT_MS = 1000;
/** Attempts in the next iterations of the event loop, before the thread waits in milliseconds. */
const QUICK_ATTEMPTS = 50;

/**
 * The number of the last push of the node thread that each front has applied, in shared memory. A call that changes
 * something is answered when all fronts have applied the change, so that the next request of its client sees it on any
 * connection.
 */
export class PortFence {
  readonly shared: SharedArrayBuffer;
  readonly #applied: Int32Array;
  readonly #own: number;

  constructor(fronts: number, own: number, shared?: SharedArrayBuffer) {
    this.shared = shared ?? new SharedArrayBuffer(4 * FIELDS * fronts);
    this.#applied = new Int32Array(this.shared);
    this.#own = own;
  }

  /** Announces that this front has applied all pushes up to this number, and serves requests. */
  publish(number: number): void {
    Atomics.store(this.#applied, FIELDS * this.#own + 1, number);
    Atomics.store(this.#applied, FIELDS * this.#own, 1);
  }

  /** Resolves when the other fronts have applied all pushes up to this number, or after a second. */
  async reached(number: number): Promise<void> {
    const until = performance.now() + LIMIT_MS;
    for (let attempt = 0; !this.#isReached(number) && performance.now() < until; attempt++)
      if (attempt < QUICK_ATTEMPTS) await new Promise((resolve) => setImmediate(resolve));
      else await Bun.sleep(1);
  }

  #isReached(number: number): boolean {
    for (let at = 0; at < this.#applied.length; at += FIELDS) {
      if (at === FIELDS * this.#own || Atomics.load(this.#applied, at) === 0) continue;
      // The numbers wrap.
      if (((number - Atomics.load(this.#applied, at + 1)) | 0) > 0) return false;
    }
    return true;
  }
}
