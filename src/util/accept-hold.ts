/** Longest wait for the other threads, milliseconds. One that does not answer in this time is busy, and accepts nothing meanwhile. */
const ANSWER_MS = 500;
/** Longest time that a thread is held by another one, milliseconds: its wait for the others, and what it then runs. */
const HELD_MS = 2500;
// Fields of the shared memory.
const LOCK = 0;
const HELD = 1;
const ACCEPTING = 2;
const REQUESTS = 3;
const FIELDS = 4;

/**
 * Lets one thread open descriptors while no other thread accepts connections. The runtime accepts all connections that
 * wait, and ends the process when a new thread then finds no descriptor for its event loop.
 */
export class AcceptHold {
  readonly shared: SharedArrayBuffer;
  readonly #fields: Int32Array;
  #isAccepting = false;

  constructor(shared = new SharedArrayBuffer(FIELDS * 4)) {
    this.shared = shared;
    this.#fields = new Int32Array(shared);
  }

  /** Registers this thread as one that accepts connections: it blocks whenever another one holds them. */
  start(): void {
    if (this.#isAccepting) return;
    this.#isAccepting = true;
    Atomics.add(this.#fields, ACCEPTING, 1);
    void this.#answerRequests();
  }

  /** Removes this thread, which accepts no connections any more. */
  end(): void {
    if (!this.#isAccepting) return;
    this.#isAccepting = false;
    Atomics.sub(this.#fields, ACCEPTING, 1);
    Atomics.notify(this.#fields, HELD);
    // Ends the wait for the next request, which would otherwise outlive this thread's work.
    Atomics.notify(this.#fields, REQUESTS);
  }

  /**
   * Calls `run` while all accepting threads are blocked, at the latest after half a second, and returns its result. The threads
   * accept again when `run` has ended, or after two seconds.
   */
  whileHeld<T>(run: () => T): T {
    const fields = this.#fields;
    const until = performance.now() + ANSWER_MS;
    const own = this.#isAccepting ? 1 : 0;
    // A thread that waits here accepts nothing.
    this.#addHeld(own);
    let locked = false;
    try {
      while (!(locked = Atomics.compareExchange(fields, LOCK, 0, 1) === 0) && waitUntil(fields, LOCK, 1, until));
      Atomics.add(fields, REQUESTS, 1);
      Atomics.notify(fields, REQUESTS);
      for (;;) {
        const held = Atomics.load(fields, HELD);
        if (held >= Atomics.load(fields, ACCEPTING) || !waitUntil(fields, HELD, held, until)) break;
      }
      return run();
    } finally {
      if (locked) {
        Atomics.store(fields, LOCK, 0);
        Atomics.notify(fields, LOCK);
      }
      this.#addHeld(-own);
    }
  }

  async #answerRequests(): Promise<void> {
    const fields = this.#fields;
    let answered = Atomics.load(fields, REQUESTS);
    while (this.#isAccepting) {
      const { async, value } = Atomics.waitAsync(fields, REQUESTS, answered);
      if (async) await value;
      answered = Atomics.load(fields, REQUESTS);
      if (!this.#isAccepting || Atomics.load(fields, LOCK) === 0) continue;
      this.#addHeld(1);
      const until = performance.now() + HELD_MS;
      while (Atomics.load(fields, LOCK) === 1 && waitUntil(fields, LOCK, 1, until));
      this.#addHeld(-1);
      // The thread does its work between the starts of several threads.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #addHeld(count: number): void {
    Atomics.add(this.#fields, HELD, count);
    Atomics.notify(this.#fields, HELD);
  }
}

/** Waits while the field has this value. Returns false when the time is over. */
function waitUntil(fields: Int32Array, field: number, value: number, until: number): boolean {
  const ms = until - performance.now();
  return ms > 0 && Atomics.wait(fields, field, value, ms) !== 'timed-out';
}
