/**
 * For long work on the front: the function it returns is awaited in between, and resolves at once until a turn of `ms` is
 * over, and then when others have had theirs.
 */
export function turns(ms: number): () => Promise<void> | undefined {
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
