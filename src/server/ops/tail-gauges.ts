import Counter from 'prom-client/lib/counter';
import Gauge from 'prom-client/lib/gauge';
import type Registry from 'prom-client/lib/registry';

/** How a server follows its database. */
export interface TailGauges {
  /** Seconds since the position was read; null before the first time. */
  readonly age: number | null;
  /** Events of the database that were not read yet; null before the position is known. */
  readonly behind: number | null;
  /** Seconds since the lease of the last node that wrote has ended; negative while it lasts, null before it is known. */
  readonly lapsed: number | null;
  readonly reads: number;
  readonly failures: number;
}

/** Adds the gauges of a server that answers from a database. */
export function addTailGauges(registry: Registry, status: () => TailGauges): void {
  const registers = [registry];
  const gauge = (name: string, help: string, of: (status: TailGauges) => number | null) =>
    new Gauge({
      name: `obverse_serve_${name}`,
      help,
      registers,
      collect() {
        const value = of(status());
        if (value === null) this.remove();
        else this.set(value);
      },
    });
  const counter = (name: string, help: string, of: (status: TailGauges) => number) =>
    new Counter({
      name: `obverse_serve_${name}_total`,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(of(status()));
      },
    });
  gauge('position_age_seconds', 'Time since the position of the database was read.', ({ age }) => age);
  gauge('events_behind', 'Events of the database that this server has not read yet.', ({ behind }) => behind);
  gauge(
    'writer_lapsed_seconds',
    'Time since no node writes the database; negative while one does.',
    (now) => now.lapsed,
  );
  counter('reads', 'Reads of the position.', ({ reads }) => reads);
  counter('read_failures', 'Reads of the position that failed.', ({ failures }) => failures);
}
