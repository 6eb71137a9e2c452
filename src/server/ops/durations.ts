import { DURATION_BOUNDS, DurationCounts, type DurationTotals } from '../../util/duration-counts.ts';

/** The durations of one combination of labels. */
export class DurationSeries {
  /** `service="x",route="/y"` */
  readonly labels: string;
  readonly #own = new DurationCounts();
  #shown: DurationTotals = this.#own;
  /** Each line without its number. */
  readonly #lines: readonly string[];
  readonly #end: readonly [sum: string, count: string];

  constructor(name: string, labels: string) {
    this.labels = labels;
    this.#lines = [...DURATION_BOUNDS, '+Inf'].map((le) => `${name}_bucket{le="${le}",${labels}} `);
    this.#end = [`${name}_sum{${labels}} `, `${name}_count{${labels}} `];
  }

  get count(): number {
    return this.#shown.buckets.reduce((sum, count) => sum + count, 0);
  }

  observe(seconds: number): void {
    this.#own.observe(seconds);
  }

  /** From now on, shows the totals that another thread has counted instead of observations. */
  show(totals: DurationTotals): void {
    this.#shown = totals;
  }

  text(): string {
    const { buckets, seconds } = this.#shown;
    let text = '';
    let sum = 0;
    for (const [i, line] of this.#lines.entries()) text += `${line}${(sum += buckets[i]!)}\n`;
    const [sumLine, countLine] = this.#end;
    return `${text}${sumLine}${seconds}\n${countLine}${sum}\n`;
  }
}

/**
 * A histogram of durations. It has thousands of lines, and prom-client would format each of them on every request,
 * which blocks the main thread for too long; here their text is formatted once.
 */
export class DurationHistogram {
  readonly #name: string;
  readonly #help: string;
  readonly #series: DurationSeries[] = [];

  constructor(name: string, help: string) {
    this.#name = name;
    this.#help = help;
  }

  get series(): readonly DurationSeries[] {
    return this.#series;
  }

  add(labels: Readonly<Record<string, string>>): DurationSeries {
    const series = new DurationSeries(this.#name, labelText(labels));
    this.#series.push(series);
    return series;
  }

  text(): string {
    return metricText(this.#name, this.#help, 'histogram', this.#series.map((series) => series.text()).join(''));
  }
}

/** Returns a metric in the text format of Prometheus. */
export function metricText(name: string, help: string, type: 'counter' | 'histogram', lines: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines}`;
}

function labelText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, (c) => (c === '\n' ? '\\n' : `\\${c}`))}"`)
    .join(',');
}
