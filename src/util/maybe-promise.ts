/** A result that is usually there at once. */
export type MaybePromise<T> = T | Promise<T>;

/** Continues at once with a result that is there, and later with one that is not. Throws or rejects as `next` does. */
export function whenReady<T, R>(value: MaybePromise<T>, next: (value: T) => R): MaybePromise<Awaited<R>> {
  return (value instanceof Promise ? value.then(next) : next(value)) as MaybePromise<Awaited<R>>;
}
