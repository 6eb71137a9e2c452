/**
 * Runs `work` for each item, at most `limit` at once, and requests the next item when one ends. The first failure aborts
 * the signal of the others. Rejects with that failure, or with the reason of `signal`, when all have ended.
 */
export async function runParallel<T>(
  items: Iterable<T>,
  limit: number,
  signal: AbortSignal,
  work: (item: T, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const failed = new AbortController();
  const ending = AbortSignal.any([signal, failed.signal]);
  const iterator = items[Symbol.iterator]();
  const runItems = async () => {
    try {
      for (;;) {
        ending.throwIfAborted();
        const { done, value } = iterator.next();
        if (done) return;
        await work(value, ending);
      }
    } catch (error) {
      failed.abort(error);
    }
  };
  await Promise.all(Array.from({ length: limit }, runItems));
  if (!failed.signal.aborted) return;
  iterator.return?.();
  throw failed.signal.reason;
}
