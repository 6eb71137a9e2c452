import { Counter, Histogram, type Registry } from 'prom-client';

/** Upper bounds in seconds. */
export const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const DURATION_NAME = 'http_request_duration_seconds';
const DURATION_HELP = 'Time from a request to its answer.';
const METHODS = new Set(['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS', 'PUT', 'PATCH']);
const LABELS = ['service', 'route', 'method', 'status'] as const;

type Labels = Record<(typeof LABELS)[number], string>;

interface Series {
  readonly labels: Labels;
  count: number;
  seconds: number;
  /** Requests by bucket, not yet summed up; the last is for those above all bounds. */
  readonly buckets: Float64Array;
}

/**
 * `http_requests_total` and `http_request_duration_seconds`. Every request passes here, so it is counted in plain
 * numbers, which become metrics when somebody asks.
 */
export class RequestMetrics {
  readonly #service: string;
  readonly #byStatus = new Map<string, Map<number, Series>>();
  readonly #all: Series[] = [];

  constructor(service: string, registry: Registry) {
    this.#service = service;
    const all = this.#all;
    new Counter({
      name: 'http_requests_total',
      help: 'HTTP requests answered, by route template.',
      labelNames: LABELS,
      registers: [registry],
      collect() {
        this.reset();
        for (const { labels, count } of all) this.inc(labels, count);
      },
    });
    registry.registerMetric(new DurationHistogram(all));
  }

  /** `route` is a template or `unmatched`. */
  record(route: string, method: string, status: number, seconds: number): void {
    const series = this.#series(route, METHODS.has(method) ? method : 'OTHER', status);
    series.count++;
    series.seconds += seconds;
    let bucket = 0;
    while (bucket < DURATION_BUCKETS.length && seconds > DURATION_BUCKETS[bucket]!) bucket++;
    series.buckets[bucket]!++;
  }

  #series(route: string, method: string, status: number): Series {
    const key = method + route;
    let statuses = this.#byStatus.get(key);
    if (!statuses) this.#byStatus.set(key, (statuses = new Map()));
    let series = statuses.get(status);
    if (!series) {
      const labels = { service: this.#service, route, method, status: String(status) };
      series = { labels, count: 0, seconds: 0, buckets: new Float64Array(DURATION_BUCKETS.length + 1) };
      statuses.set(status, series);
      this.#all.push(series);
    }
    return series;
  }
}

/** Shows series counted elsewhere. */
class DurationHistogram extends Histogram<(typeof LABELS)[number] | 'le'> {
  readonly #series: readonly Series[];

  constructor(series: readonly Series[]) {
    super({
      name: DURATION_NAME,
      help: DURATION_HELP,
      labelNames: LABELS,
      buckets: DURATION_BUCKETS,
      registers: [],
    });
    this.#series = series;
  }

  /** What the registry asks for. */
  async getForPromString() {
    const values = this.#series.flatMap(seriesValues);
    return { name: DURATION_NAME, help: DURATION_HELP, type: 'histogram', values, aggregator: 'sum' };
  }
}

function seriesValues({ labels, count, seconds, buckets }: Series) {
  let sum = 0;
  const counts = [...DURATION_BUCKETS, '+Inf'].map((le, i) => ({
    metricName: `${DURATION_NAME}_bucket`,
    labels: { le, ...labels },
    value: (sum += buckets[i]!),
  }));
  return [
    ...counts,
    { metricName: `${DURATION_NAME}_sum`, labels, value: seconds },
    { metricName: `${DURATION_NAME}_count`, labels, value: count },
  ];
}
