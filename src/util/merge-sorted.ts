/** A list with its next element. */
interface Source<T> {
  readonly rest: Iterator<T>;
  next: T;
}

/** Yields the elements of sorted lists in their order. A list is read no further than to its next element. */
export function* mergeSorted<T>(lists: Iterable<Iterable<T>>, compare: (a: T, b: T) => number): Generator<T> {
  // The source with the next element is the last one.
  const sources: Source<T>[] = [];
  for (const list of lists) {
    const rest = list[Symbol.iterator]();
    const first = rest.next();
    if (!first.done) sources.push({ rest, next: first.value });
  }
  sources.sort((a, b) => compare(b.next, a.next));
  for (let source = sources.pop(); source; source = sources.pop()) {
    yield source.next;
    const following = source.rest.next();
    if (following.done) continue;
    source.next = following.value;
    sources.splice(insertionPoint(sources, source.next, compare), 0, source);
  }
}

/** Returns the index before which an element has its place in the descending list of sources. */
function insertionPoint<T>(sources: readonly Source<T>[], next: T, compare: (a: T, b: T) => number): number {
  let [low, high] = [0, sources.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(sources[middle]!.next, next) > 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
