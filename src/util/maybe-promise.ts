/** A value, or a promise of it if it is not available synchronously. */
export type MaybePromise<T> = T | Promise<T>;

/** Calls `next` synchronously with a value, or when a promise resolves. Throws or rejects as `next` does. */
export function whenReady<T, R>(value: MaybePromise<T>, next: (value: T) => R): MaybePromise<Awaited<R>> {
  return (value instanceof Promise ? value.then(next) : next(value)) as MaybePromise<Awaited<R>>;
}
