/** The longest that others wait. */
const SLICE_MS = 8;

export interface InPartsDeps {
  readonly signal: AbortSignal;
  /** Runs a part of the work when it may be done. */
  run<T>(work: () => T): Promise<T>;
}

/** Takes all items, a few milliseconds' worth at a time; blocks, peers and clients have their turn in between. */
export async function inParts<T>(items: Iterator<T>, { run, signal }: InPartsDeps, take: (item: T) => void) {
  for (let more = true; more; ) {
    signal.throwIfAborted();
    more = await run(() => {
      const until = performance.now() + SLICE_MS;
      while (performance.now() < until) {
        const { done, value } = items.next();
        if (done) return false;
        take(value);
      }
      return true;
    });
    // Promises alone would keep the thread, however many there are.
    await new Promise(setImmediate);
  }
}
