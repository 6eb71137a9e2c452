/**
 * Returns a function for long work on the main thread, which awaits it between two steps. It resolves at once until
 * `ms` have passed, and then yields to other tasks.
 */
export function slicePauses(ms: number): () => Promise<void> | undefined {
  let until = performance.now() + ms;
  return () => {
    if (performance.now() < until) return undefined;
    return new Promise((resolve) =>
      setImmediate(() => {
        until = performance.now() + ms;
        resolve();
      }),
    );
  };
}
