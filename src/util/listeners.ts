/** Those who are told of one kind of thing, in the order in which they came. */
export class Listeners<Told extends readonly unknown[]> {
  readonly #all = new Set<(...told: Told) => void>();

  /** Returns how to leave. */
  add(listener: (...told: Told) => void): () => void {
    this.#all.add(listener);
    return () => void this.#all.delete(listener);
  }

  tell(...told: Told): void {
    for (const listener of this.#all) listener(...told);
  }
}
