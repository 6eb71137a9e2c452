/** The longest that others wait. */
const SLICE_MS = 8;

export interface InPartsDeps {
  readonly signal: AbortSignal;
  /** Runs a part of the work when it may be done. */
  run<T>(work: () => T): Promise<T>;
  /** How long the first part may take, in milliseconds, where that is not as long as the others. */
  readonly firstMs?: number;
}

/** Takes all items, a few milliseconds' worth at a time; blocks, peers and clients have their turn in between. */
export async function inParts<T>(items: Iterator<T>, { run, signal, firstMs }: InPartsDeps, take: (item: T) => void) {
  let sliceMs = firstMs ?? SLICE_MS;
  for (let more = true; more; ) {
    signal.throwIfAborted();
    more = await run(() => {
      const until = performance.now() + sliceMs;
      while (performance.now() < until) {
        const { done, value } = items.next();
        if (done) return false;
        take(value);
      }
      return true;
    });
    sliceMs = SLICE_MS;
    // Promises alone would keep the thread, however many there are.
    if (more) await new Promise(setImmediate);
  }
}
