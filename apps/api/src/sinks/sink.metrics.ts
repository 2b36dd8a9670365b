import { Injectable } from '@nestjs/common';
import { DeliveryCounts, SinksService } from '#rollcall/platform';
import { HttpMetrics } from '../telemetry/http.metrics.js';
import { counter, gauge, once } from '../telemetry/measure.js';

/** The lag of sinks and the deliveries of this replica, read when the metrics are scraped. */
@Injectable()
export class SinkMetrics {
  constructor(sinks: SinksService, counts: DeliveryCounts, { registry }: HttpMetrics) {
    const read = once(async () => await sinks.list());
    const tried = {
      name: 'rollcall_sink_deliveries_total',
      help: 'Events that this replica tried to deliver, by outcome.',
      labels: ['kind', 'outcome'],
    } as const;
    counter(registry, tried, () =>
      counts.all().map(({ kind, result: outcome, events }) => [events, { kind, outcome }]),
    );
    const behind = {
      name: 'rollcall_sink_lag_seconds',
      help: 'How long the oldest undelivered event of a sink has waited. The same on every replica.',
      labels: ['sink', 'kind', 'state', 'namespace'],
    } as const;
    gauge(registry, behind, async () =>
      (await read()).map(({ id: sink, kind, namespace, state, lagMs }) => [
        (lagMs ?? 0) / 1_000,
        { sink, kind, namespace, state },
      ]),
    );
    const labels = ['sink', 'kind', 'namespace'] as const;
    const parkedEvents = {
      name: 'rollcall_sink_parked_events',
      help: 'Events whose delivery failed permanently.',
      labels,
    };
    gauge(registry, parkedEvents, async () =>
      (await read()).map(({ id: sink, kind, namespace, parked }) => [parked, { sink, kind, namespace }]),
    );
    const lag = {
      name: 'rollcall_sink_lag_events',
      help: 'How many events a sink is behind the log. The same on every replica.',
      labels,
    };
    gauge(registry, lag, async () =>
      (await read()).map(({ id: sink, kind, namespace, head, cursor }) => [
        Math.max(0, head - cursor),
        { sink, kind, namespace },
      ]),
    );
  }
}
