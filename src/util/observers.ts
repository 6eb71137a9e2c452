import type { Log } from './log.ts';

/**
 * Those who are told of one kind of thing, in the order in which they came. They look on: what one of them throws is
 * logged, and changes nothing for the others or for who tells them.
 */
export class Observers<Told extends readonly unknown[]> {
  readonly #event: string;
  readonly #log: Log;
  readonly #all = new Set<(...told: Told) => void>();

  /** `event` names in the log what they are told of. */
  constructor(event: string, log: Log) {
    this.#event = event;
    this.#log = log;
  }

  /** Returns how to leave. */
  subscribe(listener: (...told: Told) => void): () => void {
    this.#all.add(listener);
    return () => void this.#all.delete(listener);
  }

  notify(...told: Told): void {
    for (const listener of this.#all)
      try {
        listener(...told);
      } catch (error) {
        this.#log.error('a listener failed', { event: this.#event, error });
      }
  }
}
