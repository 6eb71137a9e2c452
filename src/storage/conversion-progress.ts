import { type Clock, hostClock } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import { OperatorError } from '../util/operator-error.ts';
import { noteProgress } from '../util/progress.ts';

const LOG_INTERVAL_MS = 5000;

export interface ConversionOptions {
  readonly clock?: Pick<Clock, 'monotonicMs'>;
  readonly log?: Log | null;
  /** Whether the program is to stop, which interrupts the conversion. */
  readonly isStopping?: (() => boolean) | undefined;
}

/** Thrown by a conversion that the stop of the program interrupts. */
class ConversionInterrupted extends OperatorError {
  constructor() {
    super('the conversion of the chain database was interrupted; the next start begins it again');
  }
}

/** Logs the progress of the conversion of a database, and counts it for the watchdog. */
export class ConversionProgress {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #log: Log | null;
  readonly #isStopping: () => boolean;
  #startedAt = 0;
  #loggedAt = 0;
  #rows = 0;
  #table = '';
  #tableRows = 0;

  constructor({ clock = hostClock, log = null, isStopping = () => false }: ConversionOptions) {
    this.#clock = clock;
    this.#log = log;
    this.#isStopping = isStopping;
  }

  begin(bytes: number): void {
    this.#startedAt = this.#loggedAt = this.#clock.monotonicMs();
    this.#write('converting the chain database to the current format; the node starts when this is done', { bytes });
  }

  /** Called every few thousand rows: `rows` of `table` are done, `fraction` of all. Throws if the program is to stop. */
  update(table: string, rows: number, fraction: number): void {
    this.#count(table, rows);
    this.step();
    const now = this.#clock.monotonicMs();
    if (now - this.#loggedAt < LOG_INTERVAL_MS) return;
    this.#loggedAt = now;
    this.#write('converting the chain database', { table, rows, percent: Math.floor(Math.min(fraction, 1) * 100) });
  }

  /** Called within longer work, such as a merge. Throws if the program is to stop. */
  step(): void {
    noteProgress();
    if (this.#isStopping()) throw new ConversionInterrupted();
  }

  finish(): void {
    const seconds = Math.round((this.#clock.monotonicMs() - this.#startedAt) / 100) / 10;
    this.#write('the chain database is converted', { rows: this.#rows, seconds });
  }

  /** The conversion blocks its thread, so no timer would write a buffered line. */
  #write(message: string, fields: Readonly<Record<string, unknown>>): void {
    this.#log?.info(message, fields);
    this.#log?.flush();
  }

  #count(table: string, rows: number): void {
    if (table !== this.#table) {
      this.#table = table;
      this.#tableRows = 0;
    }
    this.#rows += rows - this.#tableRows;
    this.#tableRows = rows;
  }
}
