import { collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client';

const BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const NAME = 'rollcall_http_request_duration_seconds';

interface Series {
  labels: { method: string; route: string; status: number };
  count: number;
  sum: number;
  /** How many fell into each bucket, not cumulated. */
  buckets: number[];
}

/** The series of one route, by status. */
export class RouteTimer {
  private readonly byStatus = new Map<number, Series>();

  constructor(
    private readonly method: string,
    private readonly route: string,
  ) {}

  observe(status: number, milliseconds: number): void {
    const series = this.byStatus.get(status) ?? this.open(status);
    const seconds = milliseconds / 1_000;
    series.count += 1;
    series.sum += seconds;
    const bucket = BUCKETS_S.findIndex((limit) => seconds <= limit);
    if (bucket >= 0) series.buckets[bucket] = (series.buckets[bucket] ?? 0) + 1;
  }

  all(): Series[] {
    return [...this.byStatus.values()];
  }

  private open(status: number): Series {
    const { method, route } = this;
    const series = { labels: { method, route, status }, count: 0, sum: 0, buckets: BUCKETS_S.map(() => 0) };
    this.byStatus.set(status, series);
    return series;
  }
}

/**
 * Counts and times every request by route, not by address, so that the number of series stays bounded. The histogram is
 * kept here, and given to prom-client when it is scraped: its own re-hashes the labels on every observation.
 */
export class HttpMetrics {
  readonly registry = new Registry();
  private readonly timers = new Map<string, RouteTimer>();

  constructor(inFlight: () => number) {
    collectDefaultMetrics({ register: this.registry, prefix: 'rollcall_' });
    this.registry.registerMetric(this.histogram());
    const gauge: Gauge = new Gauge({
      name: 'rollcall_http_requests_in_flight',
      help: 'Requests being worked on.',
      registers: [this.registry],
      collect: () => gauge.set(inFlight()),
    });
  }

  /** To be called once for each route, not for each request. */
  timerOf(method: string, route: string): RouteTimer {
    const name = `${method} ${route}`;
    const timer = this.timers.get(name) ?? new RouteTimer(method, route);
    this.timers.set(name, timer);
    return timer;
  }

  private histogram(): Metric {
    const get = async (): Promise<unknown> => ({
      name: NAME,
      help: 'Time from the arrival of a request to its answer.',
      type: 'histogram',
      aggregator: 'sum',
      values: [...this.timers.values()].flatMap((timer) => timer.all()).flatMap(samplesOf),
    });
    return { name: NAME, get } as unknown as Metric;
  }
}

interface Sample {
  metricName: string;
  labels: Record<string, string | number>;
  value: number;
}

function samplesOf({ labels, count, sum, buckets }: Series): Sample[] {
  let seen = 0;
  const cumulated = buckets.map((inBucket, index) => ({ le: BUCKETS_S[index] ?? '+Inf', value: (seen += inBucket) }));
  return [
    ...[...cumulated, { le: '+Inf', value: count }].map(({ le, value }) => ({
      metricName: `${NAME}_bucket`,
      labels: { ...labels, le },
      value,
    })),
    { metricName: `${NAME}_sum`, labels, value: sum },
    { metricName: `${NAME}_count`, labels, value: count },
  ];
}
