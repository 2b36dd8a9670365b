import { metrics } from '@opentelemetry/api';
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { VERSION } from '../version.js';

/** The buckets range from the duration of a heartbeat (about 1 ms) to 10 s. */
const BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The method of requests that have no route. */
export const ANY = 'ANY';

/** Records the responses of one route. */
export interface RouteTimer {
  observe(status: number, milliseconds: number, scheme?: string): void;
}

/** Counts and times every request. The label is the route, not the URL, so that the number of series stays bounded. */
export class HttpMetrics {
  readonly registry = new Registry();
  private readonly durations: Histogram<'method' | 'route' | 'status'>;
  /** The same over OTLP. It records nothing if OpenTelemetry is off. */
  private readonly exported = metrics.getMeter('rollcall.http').createHistogram('http.server.request.duration', {
    description: 'Duration of HTTP server requests.',
    unit: 's',
    advice: { explicitBucketBoundaries: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10] },
  });

  constructor(inFlight: () => number) {
    const registers = [this.registry];
    collectDefaultMetrics({ register: this.registry, prefix: 'rollcall_' });
    const build = new Gauge({
      name: 'rollcall_build_info',
      help: 'Always 1. The label is the version of this replica.',
      labelNames: ['version'],
      registers,
    });
    build.set({ version: VERSION }, 1);
    this.durations = new Histogram({
      name: 'rollcall_http_request_duration_seconds',
      help: 'Time from the arrival of a request to its response.',
      labelNames: ['method', 'route', 'status'],
      buckets: BUCKETS_S,
      registers,
    });
    const gauge: Gauge = new Gauge({
      name: 'rollcall_http_requests_in_flight',
      help: 'Requests in progress.',
      registers,
      collect: () => gauge.set(inFlight()),
    });
  }

  timerOf(method: string, route: string): RouteTimer {
    const isRoute = method !== ANY;
    const facts = { 'http.request.method': isRoute ? method : '_OTHER', ...(isRoute && { 'http.route': route }) };
    return {
      observe: (status, milliseconds, scheme = 'http') => {
        const seconds = milliseconds / 1_000;
        this.durations.observe({ method, route, status }, seconds);
        const answer = { 'http.response.status_code': status, 'url.scheme': scheme };
        const failure = status >= 500 ? { 'error.type': String(status) } : {};
        this.exported.record(seconds, { ...facts, ...answer, ...failure });
      },
    };
  }
}
