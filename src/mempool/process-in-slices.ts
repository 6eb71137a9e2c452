/** Time limit of one slice, milliseconds. */
const SLICE_MS = 8;

export interface SliceDeps {
  readonly signal: AbortSignal;
  /** Runs one slice when the chain is settled. */
  run<T>(work: () => T): Promise<T>;
  /** Time limit of the first slice, milliseconds; by default that of the others. */
  readonly firstMs?: number;
}

/** Processes all items in slices of a few milliseconds. The thread yields between them to blocks, peers and clients. */
export async function processInSlices<T>(
  items: Iterator<T>,
  { run, signal, firstMs }: SliceDeps,
  handle: (item: T) => void,
) {
  let sliceMs = firstMs ?? SLICE_MS;
  for (let more = true; more; ) {
    signal.throwIfAborted();
    more = await run(() => {
      const until = performance.now() + sliceMs;
      while (performance.now() < until) {
        const { done, value } = items.next();
        if (done) return false;
        handle(value);
      }
      return true;
    });
    sliceMs = SLICE_MS;
    // Promises alone would not yield to I/O.
    if (more) await new Promise(setImmediate);
  }
}
