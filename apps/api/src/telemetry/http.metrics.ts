import { collectDefaultMetrics, Histogram, Registry } from 'prom-client';

const BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Counts and times every request by route, not by address, so that the number of series stays bounded. */
export class HttpMetrics {
  readonly registry = new Registry();
  private readonly requests: Histogram<'method' | 'route' | 'status'>;
  private readonly series = new Map<string, ReturnType<Histogram['labels']>>();

  constructor() {
    collectDefaultMetrics({ register: this.registry, prefix: 'rollcall_' });
    this.requests = new Histogram({
      name: 'rollcall_http_request_duration_seconds',
      help: 'Time from the first byte of a request to the last of its answer.',
      labelNames: ['method', 'route', 'status'],
      buckets: BUCKETS_S,
      registers: [this.registry],
    });
  }

  observe(method: string, route: string, status: number, milliseconds: number): void {
    const key = `${method} ${route} ${status}`;
    let series = this.series.get(key);
    if (!series) this.series.set(key, (series = this.requests.labels(method, route, String(status))));
    series.observe(milliseconds / 1_000);
  }
}
