import type { Log } from './log.ts';

/**
 * Observers of one event, called in the order of subscription. An exception of one is logged, and affects neither the
 * others nor the caller.
 */
export class Observers<Facts extends readonly unknown[]> {
  readonly #event: string;
  readonly #log: Log;
  readonly #all = new Set<(...facts: Facts) => void>();

  /** `event` names the event in the log. */
  constructor(event: string, log: Log) {
    this.#event = event;
    this.#log = log;
  }

  /** Returns a function that unsubscribes the observer. */
  subscribe(observer: (...facts: Facts) => void): () => void {
    this.#all.add(observer);
    return () => void this.#all.delete(observer);
  }

  notify(...facts: Facts): void {
    for (const observer of this.#all)
      try {
        observer(...facts);
      } catch (error) {
        this.#log.error('an observer failed', { event: this.#event, error });
      }
  }
}
