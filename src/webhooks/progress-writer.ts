import type { WebhookProgress } from './webhook-store.ts';

/**
 * Stores the progress of hooks, that of many in one commit: while a commit runs, the next one is collected. Its queue holds
 * one entry for each hook.
 */
export class ProgressWriter {
  readonly #write: (all: readonly WebhookProgress[]) => Promise<void>;
  readonly #waiting = new Map<string, WebhookProgress>();
  #running: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;

  constructor(write: (all: readonly WebhookProgress[]) => Promise<void>) {
    this.#write = write;
  }

  /** Resolves when the progress, or a later one of the same hook, is stored. Rejects if that failed. */
  save(progress: WebhookProgress): Promise<void> {
    this.#waiting.set(progress.id, progress);
    this.#next ??= this.#running.catch(() => {}).then(() => this.#flush());
    return this.#next;
  }

  #flush(): Promise<void> {
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    this.#next = null;
    this.#running = this.#write(all);
    return this.#running;
  }
}
