import { join } from 'node:path';
import { type SentChange, withChanges } from '../mempool/changes.ts';
import { EventMark, NONE_GIVEN } from '../storage/event-mark.ts';
import { storageProblem } from './storage-problem.ts';

interface GivenNumbersOptions {
  readonly chainDir: string;
  /** Returns the number of the first event of a transaction that the saved mempool does not hold; 0 without any. */
  readonly unsavedFrom: () => number;
  /** Called with the error after which the node must end at once; null lets the error end the process. */
  readonly onFailure: ((error: Error) => void) | null;
}

/** The numbers of mempool events that were given, as `events.mark` records them: a later start finds those that were lost. */
export class GivenEventNumbers {
  readonly mark: EventMark;
  readonly #options: GivenNumbersOptions;
  #given = NONE_GIVEN;
  /** The reason why the numbers cannot be recorded; null while they can. */
  #failure: Error | null = null;

  constructor(options: GivenNumbersOptions) {
    this.#options = options;
    this.mark = new EventMark(join(options.chainDir, 'events.mark'));
  }

  /** Adds the numbers of changes; `record` makes them durable against a kill. */
  addChanges(changes: readonly SentChange[]): void {
    this.#given = withChanges(this.#given, changes);
  }

  /** Must be called before the numbers are delivered. Throws if they cannot be recorded, then and from then on. */
  record(unsavedFrom = 0): void {
    if (this.#failure !== null) throw this.#failure;
    try {
      this.mark.record({ ...this.#given, unsavedFrom: unsavedFrom || this.#options.unsavedFrom() });
    } catch (error) {
      // Neither this update nor a later one is delivered. The node ends, since its next start would not know of the lost
      // events.
      this.#failure = error instanceof Error ? error : new Error(String(error));
      this.#reportFailure(this.#failure);
      throw error;
    }
  }

  /** Records the numbers at a stop. */
  end(): void {
    this.mark.end({ ...this.#given, unsavedFrom: this.#options.unsavedFrom() });
  }

  #reportFailure(failure: Error): void {
    const { cause } = failure;
    const known = cause instanceof Error ? storageProblem(cause, this.#options.chainDir) : failure;
    const problem = known === cause ? failure : known;
    if (this.#options.onFailure) this.#options.onFailure(problem);
    else
      queueMicrotask(() => {
        throw problem;
      });
  }
}
