import { DurationHistogram, type DurationSeries, metricText } from './durations.ts';

const METHODS = new Set(['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS', 'PUT', 'PATCH']);

/** `http_requests_total` and `http_request_duration_seconds`, which count every request. */
export class RequestMetrics {
  readonly #service: string;
  readonly #durations = new DurationHistogram('http_request_duration_seconds', 'Time from a request to its answer.');
  /** By route, method and status. */
  readonly #byRoute = new Map<string, Map<string, Map<number, DurationSeries>>>();

  constructor(service: string) {
    this.#service = service;
  }

  /** `route` is a template or `unmatched`. */
  record(route: string, method: string, status: number, seconds: number): void {
    this.#series(route, METHODS.has(method) ? method : 'OTHER', status).observe(seconds);
  }

  text(): string {
    const totals = this.#durations.series.map(({ labels, count }) => `http_requests_total{${labels}} ${count}\n`);
    const total = metricText(
      'http_requests_total',
      'HTTP requests answered, by route template.',
      'counter',
      totals.join(''),
    );
    return total + this.#durations.text();
  }

  #series(route: string, method: string, status: number): DurationSeries {
    let methods = this.#byRoute.get(route);
    if (!methods) this.#byRoute.set(route, (methods = new Map()));
    let statuses = methods.get(method);
    if (!statuses) methods.set(method, (statuses = new Map()));
    let series = statuses.get(status);
    if (!series) {
      series = this.#durations.add({ service: this.#service, route, method, status: String(status) });
      statuses.set(status, series);
    }
    return series;
  }
}
